package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// resultsFile returns the requested file of results in its form.
func resultsFile(f runFlags) files.File {
	if f.resultsForm == files.FormatPromptfoo {
		return files.Promptfoo(f.results, time.Now)
	}
	return files.Results(f.results, time.Now)
}

// leftOut counts the cases that the file of results lacks; empty for none.
func leftOut(f runFlags, r *report.Report) string {
	n, format := files.AgentEvalsLeftOut(r), schema.DialectEvalcase
	if f.resultsForm == files.FormatPromptfoo {
		n, format = files.PromptfooLeftOut(r), schema.DialectMatrix
	}
	if n == 0 || f.results == "" {
		return ""
	}
	return fmt.Sprintf("%s of other formats: not in %s, which holds cases of the %s format", textfmt.Count(n, "case"), f.results, format)
}

// addRows adds the rows of the matrix format. Definitions are read again, since a plan
// does not keep the ones with reused verdicts.
func addRows(ctx context.Context, head controller.Checkout, r *report.Report) error {
	loaded, err := load.Load(ctx, head.FS, load.Options{Settings: head.Config.Settings(), Maker: head.Maker})
	if err != nil {
		return fmt.Errorf("read the definitions for the results: %w", err)
	}
	rows := map[string]*schema.Row{}
	for _, c := range loaded.Cases {
		rows[c.Key+"\x00"+c.Target] = c.Row
	}
	for i := range r.Cases {
		if c := &r.Cases[i]; c.Result != nil && c.Dialect == schema.DialectMatrix {
			if c.Result.Row = rows[c.Key+"\x00"+c.Target]; c.Result.Row == nil {
				c.Result.Row = rows[c.Key+"\x00"] // for the default target
			}
		}
	}
	return nil
}
