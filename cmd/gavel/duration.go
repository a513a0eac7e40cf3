package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/controller/config"
)

// durationVar adds a flag whose default is the value of d.
func durationVar(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	flags.Var((*durationValue)(d), name, usage)
}

type durationValue time.Duration

// Set parses a text such as 90d.
func (v *durationValue) Set(text string) error {
	d, err := config.ParseDuration(text)
	*v = durationValue(d)
	return err
}

// String returns an empty text for none, so that help shows no default.
func (v *durationValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type returns the name shown in help.
func (v *durationValue) Type() string { return "duration" }
