package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
)

// resultsFile returns the requested file of results in its form.
func resultsFile(f runFlags) files.File {
	switch f.resultsForm {
	case files.FormatPromptfoo:
		return files.Promptfoo(f.results, time.Now)
	case files.FormatSkill:
		return files.Skill(f.results, time.Now)
	}
	return files.Results(f.results, time.Now)
}

// leftOut counts the cases that the file of results lacks; empty for none.
func leftOut(f runFlags, r *report.Report) string {
	n, format := files.AgentEvalsLeftOut(r), schema.DialectEvalcase
	switch f.resultsForm {
	case files.FormatPromptfoo:
		n, format = files.PromptfooLeftOut(r), schema.DialectMatrix
	case files.FormatSkill:
		n, format = files.SkillLeftOut(r), schema.DialectSkill
	}
	if n == 0 || f.results == "" {
		return ""
	}
	return fmt.Sprintf("%s of other formats: not in %s, which holds cases of the %s format", textfmt.Count(n, "case"), f.results, format)
}

// recall returns a function that adds the stored verdicts and replies of cases to the
// options of a page.
func recall(ctx context.Context, store *ledger.Ledger) func(*report.Report, *html.Options) error {
	return func(r *report.Report, o *html.Options) (err error) {
		if o.History, err = maintenance.Histories(ctx, store, report.HistoryRuns, nil); err != nil {
			return err
		}
		stored, err := ledger.RunWithoutCases(ctx, store, r.Run)
		if err != nil || stored == nil {
			return err
		}
		replies, err := ledger.LastReplies(ctx, store, stored.Scope(), html.GridDigests(r))
		o.Replies = redact.Apply(replies, redact.Text) // before the page clips them
		return err
	}
}

// addSources adds the parts of definitions that a file of results has: the rows of the
// matrix format, and the sentences of criteria of the skill format. Definitions are read
// again, since a plan does not keep the ones with reused verdicts.
func addSources(ctx context.Context, head controller.Checkout, r *report.Report) error {
	loaded, err := load.Load(ctx, head.FS, load.Options{Settings: head.Config.Settings(), Maker: head.Maker})
	if err != nil {
		return fmt.Errorf("read the definitions for the results: %w", err)
	}
	cases := map[string]*schema.Case{}
	for _, c := range loaded.Cases {
		cases[c.Key+"\x00"+c.Target] = c
	}
	for i := range r.Cases {
		row := &r.Cases[i]
		c := cases[row.Key+"\x00"+row.Target]
		if c == nil {
			c = cases[row.Key+"\x00"] // for the default target
		}
		if row.Result == nil || c == nil {
			continue
		}
		switch row.Dialect {
		case schema.DialectMatrix:
			row.Result.Row = c.Row
		case schema.DialectSkill:
			if row.Result.Texts = sentences(c); c.Trigger != "" {
				row.Result = nil // a query is not an eval
			}
		}
	}
	return nil
}

// sentences returns what the criteria of a case demand, by their ids.
func sentences(c *schema.Case) map[string]string {
	texts := map[string]string{}
	for _, ev := range c.Evaluators {
		switch spec := ev.Spec.(type) {
		case evaluator.Rubrics:
			for _, criterion := range spec.Criteria {
				texts[criterion.ID] = criterion.Outcome
			}
		case evaluator.Checks:
			for _, check := range spec.Checks {
				texts[check.ID] = fmt.Sprintf("%s: %s %q", check.ID, strings.ReplaceAll(check.Kind, "_", " "), check.Text)
			}
		}
	}
	return texts
}
