package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

func schemaCommand(a *App) *cobra.Command {
	var notation string
	cmd := &cobra.Command{
		Use:   "schema [FORMAT]",
		Short: "Print what a definition or configuration may hold, for people or editors",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("one format at a time: %s", strings.Join(args, ", "))
			}
			return nil
		},
		Example: `  gavel schema testcase
  gavel schema domain/test --format json-schema > .vscode/gavel-test.json
  gavel schema gavel.yaml --format json-schema
  gavel schema server`,
		RunE: func(_ *cobra.Command, args []string) error {
			return printSchema(a, append(args, document.FormatConfig)[0], notation)
		},
	}
	cmd.Flags().StringVar(&notation, "format", "cue", "how to print: cue for people, json-schema for editors")
	return cmd
}

func printSchema(a *App, format, notation string) error {
	if known := document.Formats(); !slices.Contains(known, format) {
		return usageError("unknown format %q; %s", format, cmp.Or(suggest.DidYouMean(format, known), "known: "+strings.Join(known, ", ")))
	}
	if a.JSON {
		notation = "json-schema"
	}
	var text string
	var err error
	switch notation {
	case "cue":
		text, err = document.FormatCUE(format)
	case "json-schema":
		var raw []byte
		raw, err = document.FormatJSON(format)
		text = string(raw)
	default:
		return usageError("--format %q is not known; write cue or json-schema", notation)
	}
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write([]byte(text))
	return err
}
