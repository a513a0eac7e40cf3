// Command simulate prints how often package confirm is wrong about pull requests
// whose truth only the simulation knows. Its output is kept in
// controller/confirm/simulation/table.txt.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/confirm/simulation"
)

func main() {
	only := flag.String("only", "", "sections to print, such as null,drift; all by default")
	flag.Parse()
	if err := simulate(os.Stdout, *only); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
}

// simulate prints the sections that are named, or all where none is.
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
