// Command check runs everything that a change has to pass, one line a step:
//
//	go run ./cmd/internal/check
//	go run ./cmd/internal/check -only gofmt,vet,layers
//
// It ends with 1 when a step fails. The steps that read the source themselves
// (layers, sizes, words) say for each finding where it is and why it matters.
// There is no govulncheck among them: its database is not within reach of a
// build without a network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema/suggest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// run parses the arguments and goes through the steps. All steps run, whatever
// those before them found.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	only := flags.String("only", "", "comma-separated `steps` to run, such as gofmt,vet; all when empty")
	skip := flags.String("skip", "", "comma-separated `steps` to leave out, such as test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	chosen, err := choose(*only, *skip)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	var failed []string
	for _, s := range chosen {
		start := time.Now()
		err := s.run(ctx, root, out)
		took := time.Since(start).Round(10 * time.Millisecond)
		if err == nil {
			fmt.Fprintf(out, "ok    %-10s %s\n", s.name, took)
			continue
		}
		failed = append(failed, s.name)
		fmt.Fprintf(out, "FAIL  %-10s %s\n%s\n", s.name, took, indent(err.Error()))
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s: see above", strings.Join(failed, ", "))
	}
	return nil
}

// choose returns the steps named by only, or all, without those named by skip.
func choose(only, skip string) ([]step, error) {
	wanted, err := stepNames(only)
	if err != nil {
		return nil, err
	}
	unwanted, err := stepNames(skip)
	if err != nil {
		return nil, err
	}
	var chosen []step
	for _, s := range steps {
		if (len(wanted) == 0 || slices.Contains(wanted, s.name)) && !slices.Contains(unwanted, s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no step is left to run")
	}
	return chosen, nil
}

func stepNames(text string) ([]string, error) {
	var known []string
	for _, s := range steps {
		known = append(known, s.name)
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		if hint := suggest.DidYouMean(name, known); hint != "" {
			return nil, fmt.Errorf("there is no step %q; %s", name, hint)
		}
		return nil, fmt.Errorf("there is no step %q; there are %s", name, strings.Join(known, ", "))
	}
	return names, nil
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n      ")
}
