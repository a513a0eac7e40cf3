package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/controller/config"
)

// Var adds a flag whose default is what d has.
func durationVar(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	flags.Var((*durationValue)(d), name, usage)
}

type durationValue time.Duration

// Set reads a text such as 90d.
func (v *durationValue) Set(text string) error {
	d, err := config.ParseDuration(text)
	*v = durationValue(d)
	return err
}

// String is empty for none, so that help shows no default.
func (v *durationValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is what help shows.
func (v *durationValue) Type() string { return "duration" }
