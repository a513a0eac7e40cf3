// Package duration is a flag for durations that are written as in gavel.yaml.
package duration

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/controller/config"
)

// Var adds a flag whose default is what d has.
func Var(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	flags.Var((*value)(d), name, usage)
}

type value time.Duration

// Set reads a text such as 90d.
func (v *value) Set(text string) error {
	d, err := config.ParseDuration(text)
	*v = value(d)
	return err
}

// String is empty for none, so that help shows no default.
func (v *value) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is what help shows.
func (v *value) Type() string { return "duration" }
