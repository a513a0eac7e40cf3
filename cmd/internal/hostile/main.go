// Command hostile gives gavel heads that are made to bring it down, and holds
// its memory:
//
//	go run ./cmd/internal/hostile
//
// Each head is a pull request at a fake forge. Some are judged by gavel pr, one
// by one, and all by one gavel serve while strangers flood its webhook; heads whose
// lists multiply are judged by a server of their own. Every
// head has to get its last statuses and its comment, the last one is harmless
// and has to be green, and no process may have taken more memory than the bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// A trial has the parts of a whole run of this command.
type trial struct {
	*stage.Stage
	dir     string
	out     io.Writer
	program string
	most    int64 // bytes of memory
	patient time.Duration
	place   *fixture
}

// run parses the arguments and tries all.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	t := trial{out: out}
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	mib := flags.Int64("most", 600, "how many MiB of memory a process may take")
	blob := flags.Int64("blob", 1536, "how many MiB of zeros the large blob has")
	flags.DurationVar(&t.patient, "patience", 10*time.Minute, "how long to wait for what is published")
	gavel := flags.String("gavel", "", "the program to try; it is built by default")
	form := flags.String("render", "", "render the largest report in this form, and nothing else")
	only := flags.String("only", "", "try this part alone: jobs, multiplied, crowd, bulk, siege, writers or reports")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *form != "" {
		return renderForm(*form)
	}
	t.most = *mib << 20
	dir, err := os.MkdirTemp("", "gavel-hostile")
	if err != nil {
		return err
	}
	t.Stage, t.dir = stage.New(ctx, dir), dir
	defer func() { err = errors.Join(err, t.End(), os.RemoveAll(dir)) }()
	return t.Play(func() error {
		if t.program, err = stage.Program(ctx, *gavel, dir); err != nil {
			return err
		}
		if *only == "" || *only == "jobs" || *only == "siege" {
			t.place = newPlace(t.Stage, dir, *blob<<20)
		}
		var errs []error
		for _, part := range []struct {
			name string
			try  func(context.Context) error
		}{
			{"reports", t.rendered},
			{"jobs", func(ctx context.Context) error { return t.jobs(ctx, t.place) }},
			{"multiplied", t.multiplied}, {"writers", t.writers}, {"crowd", t.crowd}, {"bulk", t.bulk}, {"siege", t.siege},
		} {
			if *only == "" || *only == part.name {
				errs = append(errs, part.try(ctx))
			}
		}
		return errors.Join(errs...)
	})
}

// measured prints the memory of a process and refuses too much.
func (t *trial) measured(what string, took time.Duration, peak int64) error {
	fmt.Fprintf(t.out, "%-40s %6.1f s %6d MiB\n", what, took.Seconds(), peak>>20)
	if peak > t.most {
		return fmt.Errorf("%s took %d MiB of memory, more than %d", what, peak>>20, t.most>>20)
	}
	return nil
}
