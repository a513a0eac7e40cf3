// Command simulate prints how often package confirm is wrong about pull requests whose
// truth only the simulation knows; simulation/table.txt keeps the result. With
// -pipeline it prints the results of the whole pipeline for such pull requests, which
// rehearsal/table.txt keeps, and with -power what package power states about suites, next
// to what is true, which statements/table.txt keeps. With -triggers it prints how often a
// trigger list says that a skill got worse, which triggers/table.txt keeps.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/examples/research/rehearsal"
	"github.com/gavel-evals/gavel/examples/research/simulation"
	"github.com/gavel-evals/gavel/examples/research/statements"
	"github.com/gavel-evals/gavel/examples/research/triggers"
)

func main() {
	only := flag.String("only", "", "sections to print, such as null,drift; all by default")
	pipeline := flag.Bool("pipeline", false, "judge pull requests with the whole pipeline, a ledger and a model server")
	stated := flag.Bool("power", false, "compare the stated with the true power of suites")
	lists := flag.Bool("triggers", false, "decide pull requests whose skills have trigger lists")
	flag.Parse()
	err := table(os.Stdout, *pipeline, *stated, *lists, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
}

// table prints the table that the flags ask for.
func table(w io.Writer, pipeline, stated, lists bool, only string) error {
	switch {
	case pipeline:
		return rehearse(w)
	case stated:
		return statements.Table(context.Background(), w, statements.Suites)
	case lists:
		return triggers.Table(w)
	}
	return simulate(w, only)
}

// simulate prints the named sections, or all if none is named.
func simulate(w io.Writer, only string) error {
	sections := simulation.Sections()
	if only != "" {
		var chosen []simulation.Section
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(sections, func(s simulation.Section) bool { return s.Name == name })
			if i < 0 {
				return fmt.Errorf("section %q is not one of the table", name)
			}
			chosen = append(chosen, sections[i])
		}
		sections = chosen
	}
	simulation.Header(w)
	for _, s := range sections {
		fmt.Fprintf(w, "\n%s (%s)\n", s.Title, s.Name)
		for _, r := range s.Rows {
			fmt.Fprintln(w, r.Line())
		}
	}
	return nil
}

// rehearse prints the table of the pipeline, each line when it is known.
func rehearse(w io.Writer) error {
	rehearsal.Header(w)
	for _, r := range rehearsal.Rows() {
		line, err := r.Line(context.Background())
		if err != nil {
			return err
		}
		fmt.Fprintln(w, line)
	}
	return nil
}
