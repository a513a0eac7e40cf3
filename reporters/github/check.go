package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// CheckName is the name of the check run. It is none of the contexts, so that
// a branch protection that names one of those means the status.
const CheckName = "gavel/report"

const (
	// perRequest is how many annotations a forge takes with one request.
	perRequest  = 50
	writeChecks = "checks: write"
	completed   = "completed"
)

// A Check is a check run that is over: a report at the lines of the
// definitions.
type Check struct {
	Conclusion string `json:"conclusion"`
	// Title and Summary are shown above the annotations; the Summary is Markdown.
	Title   string `json:"title"`
	Summary string `json:"summary"`
	// DetailsURL is where it links to. Defaults to nowhere.
	DetailsURL  string       `json:"details_url,omitempty"`
	Annotations []Annotation `json:"annotations,omitempty"`
	// Again makes a check run again that says the same: somebody asked for it. A new
	// one settles the suite that was reset, as the first one did; of one that is
	// written once more after it was completed forges do not promise that.
	Again bool `json:"-"`
}

// An Annotation is shown next to a line of a file.
type Annotation struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	// Column is 0 where only the line is known.
	Column  int    `json:"column,omitempty"`
	Level   Level  `json:"level"`
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Level is how much an annotation weighs.
type Level string

// The levels that are used.
const (
	LevelWarning Level = "warning"
	LevelFailure Level = "failure"
)

// SetCheck makes c the check run of the commit sha. It is found again by commit,
// name and what it says, so that the same is written once, whatever became of
// the answer. One that says something else is made again, because
// annotations cannot be removed; forges show the newest of a name. One without
// annotations says nothing that the statuses do not say: it is made only where
// there is one already, or where somebody asked for it.
func (p *Publisher) SetCheck(ctx context.Context, sha string, c Check) error {
	op := fmt.Sprintf("set check run %s of %s/%s@%.12s", CheckName, p.cfg.Owner, p.cfg.Name, sha)
	id, err := c.externalID(p.cfg.Number)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var before *gh.CheckRun // that does not count any more
	if c.Again {
		if before, err = p.newestCheck(ctx, sha); err != nil {
			return p.explain(op, writeChecks, err)
		}
	}
	for range rounds {
		if err = p.setCheck(ctx, sha, id, c, before.GetID()); !isLost(ctx, err) {
			break
		}
	}
	return p.explain(op, writeChecks, err)
}

// idPrefix tells our check runs from the job of the same name.
const idPrefix = "gavel:"

// externalID is made of the pull request and what c says.
func (c Check) externalID(number int) (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%s%d:%s", idPrefix, number, hex.EncodeToString(sum[:16])), nil
}

// CheckOf is the pull request that a check run of ours is about, 0 for none, by
// its external id. It reports false for every other check run.
func CheckOf(externalID string) (number int, ours bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(externalID, idPrefix), ":")
	number, err := strconv.Atoi(text)
	return number, strings.HasPrefix(externalID, idPrefix) && err == nil && number >= 0
}

// setCheck looks, creates where there is none or only the one that does not
// count, and adds the annotations that are not there yet.
func (p *Publisher) setCheck(ctx context.Context, sha, id string, c Check, before int64) error {
	run, err := p.newestCheck(ctx, sha)
	if err != nil {
		return err
	}
	sent := len(c.Annotations)
	switch {
	case run == nil && sent == 0 && !c.Again:
		return nil
	case run == nil || run.GetExternalID() != id || run.GetID() == before:
		if run, err = p.createCheck(ctx, sha, id, c); err != nil {
			return err
		}
		sent = min(perRequest, sent)
	case run.GetOutput() != nil && run.Output.AnnotationsCount != nil:
		// A forge that tells no number is believed to have them all.
		sent = *run.Output.AnnotationsCount
	}
	for sent < len(c.Annotations) {
		next := min(sent+perRequest, len(c.Annotations))
		if err := p.updateCheck(ctx, run.GetID(), c, c.output(sent, next)); err != nil {
			return err
		}
		sent = next
	}
	return nil
}

// newestCheck is our last check run of a commit, nil where there is none.
func (p *Publisher) newestCheck(ctx context.Context, sha string) (*gh.CheckRun, error) {
	opts := &gh.ListCheckRunsOptions{
		CheckName: gh.String(CheckName), Filter: gh.String("all"), ListOptions: gh.ListOptions{PerPage: 100},
	}
	var newest *gh.CheckRun
	for range maxPages {
		page, resp, err := p.cfg.REST.Checks.ListCheckRunsForRef(ctx, p.cfg.Owner, p.cfg.Name, sha, opts)
		if err != nil {
			return nil, err
		}
		for _, run := range page.CheckRuns {
			if strings.HasPrefix(run.GetExternalID(), fmt.Sprintf("%s%d:", idPrefix, p.cfg.Number)) && run.GetID() > newest.GetID() {
				newest = run
			}
		}
		if resp.NextPage <= opts.Page {
			return newest, nil
		}
		opts.Page = resp.NextPage
	}
	return nil, fmt.Errorf("list the check runs of %.7s: there are more than %d; push another commit", sha, maxPages*opts.PerPage)
}

func (p *Publisher) createCheck(ctx context.Context, sha, id string, c Check) (*gh.CheckRun, error) {
	run, _, err := p.cfg.REST.Checks.CreateCheckRun(ctx, p.cfg.Owner, p.cfg.Name, gh.CreateCheckRunOptions{
		Name: CheckName, HeadSHA: sha, ExternalID: &id, DetailsURL: optional(c.DetailsURL),
		Status: gh.String(completed), Conclusion: &c.Conclusion, Output: c.output(0, min(perRequest, len(c.Annotations))),
	})
	return run, err
}

func (p *Publisher) updateCheck(ctx context.Context, id int64, c Check, output *gh.CheckRunOutput) error {
	_, _, err := p.cfg.REST.Checks.UpdateCheckRun(ctx, p.cfg.Owner, p.cfg.Name, id, gh.UpdateCheckRunOptions{
		Name: CheckName, Status: gh.String(completed), Conclusion: &c.Conclusion, Output: output,
	})
	return err
}

// output is what a request brings: some of the annotations.
func (c Check) output(from, to int) *gh.CheckRunOutput {
	out := &gh.CheckRunOutput{Title: &c.Title, Summary: &c.Summary}
	for _, a := range c.Annotations[from:to] {
		wire := &gh.CheckRunAnnotation{
			Path: &a.Path, StartLine: &a.Line, EndLine: &a.Line, AnnotationLevel: gh.String(string(a.Level)),
			Title: &a.Title, Message: &a.Message,
		}
		if a.Column > 0 {
			wire.StartColumn, wire.EndColumn = &a.Column, &a.Column
		}
		out.Annotations = append(out.Annotations, wire)
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
