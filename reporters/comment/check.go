package comment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// CheckName is the name of the check run. It differs from the contexts, so that a
// branch protection that names one of those means the status.
const CheckName = "gavel/report"

const (
	// perRequest is the number of annotations that a forge accepts in one request.
	perRequest  = 50
	writeChecks = "checks: write"
	completed   = "completed"
)

// A Check is a completed check run: a report at the lines of the definitions.
type Check struct {
	Conclusion string `json:"conclusion"`
	// Title and Summary are shown above the annotations; the Summary is Markdown.
	Title   string `json:"title"`
	Summary string `json:"summary"`
	// DetailsURL is the link of the check run. Defaults to none.
	DetailsURL  string       `json:"details_url,omitempty"`
	Annotations []Annotation `json:"annotations,omitempty"`
	// Again repeats an unchanged check run on request. A new one settles the reset
	// suite, as the first one did; forges do not promise that for a completed one that
	// is written again.
	Again bool `json:"-"`
}

// An Annotation is shown next to a line of a file.
type Annotation struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	// Column is 0 if only the line is known.
	Column  int    `json:"column,omitempty"`
	Level   Level  `json:"level"`
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Level is the severity of an annotation.
type Level string

// The levels in use.
const (
	levelWarning Level = "warning"
	LevelFailure Level = "failure"
)

// SetCheck makes c the check run of the commit sha. It is identified by commit, name
// and content, so that the same is written once, whether or not the answer arrived. A
// changed one is created again, because annotations cannot be removed; forges show the
// newest of a name. One without annotations adds nothing to the statuses: it is only
// created if there is one already, or on request. If other pull requests have the
// commit, its conclusion is the worst of their statuses.
func (p *Publisher) SetCheck(ctx context.Context, sha string, c Check) error {
	op := fmt.Sprintf("set check run %s of %s/%s@%.12s", CheckName, p.cfg.Owner, p.cfg.Name, sha)
	var before *gh.CheckRun // no longer valid
	if c.Again {
		runs, err := p.checkRuns(ctx, sha)
		if err != nil {
			return p.explain(op, writeChecks, err)
		}
		before = runs.own
	}
	var lost error
	for range rounds {
		shown, at, err := p.shownCheck(ctx, sha, c)
		if err != nil || shown == nil {
			return p.explain(op, "statuses: read", err)
		}
		created, err := p.setCheck(ctx, sha, *shown, before.GetID())
		lost = nil
		switch {
		case isLost(ctx, err):
			lost = err
		case err != nil || !created || !p.mayBeShared(at):
			return p.explain(op, writeChecks, err)
		default: // another process may have created one meanwhile
			before, c.Again = nil, false
		}
	}
	return p.explain(op, writeChecks, lost)
}

// shownCheck returns the commit's check run after the publisher's subject has published
// c; nil if the subject no longer has the commit.
func (p *Publisher) shownCheck(ctx context.Context, sha string, c Check) (*Check, *standing, error) {
	if p.cfg.Sharers == nil {
		return &c, nil, nil
	}
	at, err := p.statusesOf(ctx, sha)
	if err != nil {
		return nil, nil, err
	}
	others, err := p.others(ctx, at, ContextVerdict)
	if err != nil || len(others) == 0 {
		return &c, at, err
	}
	me := claim{subject: p.subject(), state: StateSuccess, words: c.Title}
	switch c.Conclusion {
	case conclusionActionRequired:
		me.state, me.hold = StateError, Approvable
	case ConclusionFailure:
		me.state = StateFailure
	case ConclusionCancelled:
		me.state = StateError
	}
	all := append(slices.Clone(others), me)
	if me.number != 0 && !me.queued {
		head, err := p.isHead(ctx, at, me.number)
		if err != nil || !head && !c.Again {
			return nil, at, err
		}
		if !head { // requested, with the others' result
			all = others
		}
	}
	slices.SortStableFunc(all, func(a, b claim) int { return cmp.Or(a.weight()-b.weight(), a.number-b.number) })
	all = strongest(all)
	c.Title = description(all)
	if all[0].subject != me.subject {
		c.Conclusion = all[0].conclusion()
	}
	return &c, at, nil
}

// conclusion returns a check run's conclusion. A pending one is not green.
func (c claim) conclusion() string {
	switch {
	case c.state == StateSuccess:
		return ConclusionSuccess
	case c.hold != "" || c.state == StatePending:
		return conclusionActionRequired
	}
	return ConclusionFailure
}

// leaveCheck creates a check run with the others' result for a commit, if the newest
// one differs.
func (p *Publisher) leaveCheck(ctx context.Context, at *standing) error {
	runs, err := p.checkRuns(ctx, at.sha)
	if err != nil || runs.newest == nil {
		return err
	}
	others, err := p.others(ctx, at, ContextVerdict)
	if err != nil || len(others) == 0 {
		return err
	}
	others = strongest(others)
	worst := others[0]
	if worst.conclusion() == runs.newest.GetConclusion() {
		return nil
	}
	c := Check{
		Conclusion: worst.conclusion(), Title: description(others), DetailsURL: worst.page,
		Summary: "Another pull request had this commit as its head and does not have it any more. The comment of each one that has it says its verdict.",
	}
	id, err := c.externalID(worst.number)
	if err == nil {
		_, err = p.createCheck(ctx, at.sha, id, c)
	}
	return err
}

// idPrefix distinguishes our check runs from the job of the same name.
const idPrefix = "gavel:"

// externalID is derived from the pull request and the content of c.
func (c Check) externalID(number int) (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%s%d:%s", idPrefix, number, hex.EncodeToString(sum[:16])), nil
}

// CheckRunPullRequest returns the pull request of our check run by its external id, 0
// for none. It reports false for every other check run.
func CheckRunPullRequest(externalID string) (number int, ours bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(externalID, idPrefix), ":")
	number, err := strconv.Atoi(text)
	return number, strings.HasPrefix(externalID, idPrefix) && err == nil && number >= 0
}

// setCheck looks, creates a check run if there is none or only the invalid one, and
// adds missing annotations.
func (p *Publisher) setCheck(ctx context.Context, sha string, c Check, before int64) (created bool, err error) {
	id, err := c.externalID(p.cfg.Number)
	if err != nil {
		return false, err
	}
	runs, err := p.checkRuns(ctx, sha)
	if err != nil {
		return false, err
	}
	run, sent := runs.own, len(c.Annotations)
	// Forges show the newest one, which may belong to another pull request.
	hidden := runs.newest != nil && runs.newest.GetID() != run.GetID() && runs.newest.GetConclusion() != c.Conclusion
	switch {
	case run == nil && sent == 0 && !c.Again && !hidden:
		return false, nil
	case run == nil || run.GetExternalID() != id || run.GetID() == before || hidden:
		if run, err = p.createCheck(ctx, sha, id, c); err != nil {
			return false, err
		}
		created, sent = true, min(perRequest, sent)
	case run.GetOutput() != nil && run.Output.AnnotationsCount != nil:
		// A forge that reports no number is assumed to have them all.
		sent = *run.Output.AnnotationsCount
	}
	for sent < len(c.Annotations) {
		next := min(sent+perRequest, len(c.Annotations))
		if err := p.updateCheck(ctx, run.GetID(), c, c.output(sent, next)); err != nil {
			return created, err
		}
		sent = next
	}
	return created, nil
}

// checkRuns are our last check runs of a commit, nil without one: the pull request's
// own, and the newest of any.
type checkRuns struct{ own, newest *gh.CheckRun }

func (p *Publisher) checkRuns(ctx context.Context, sha string) (found checkRuns, err error) {
	opts := &gh.ListCheckRunsOptions{
		CheckName: gh.String(CheckName), Filter: gh.String("all"), ListOptions: gh.ListOptions{PerPage: 100},
	}
	for range maxPages {
		page, resp, err := p.cfg.REST.Checks.ListCheckRunsForRef(ctx, p.cfg.Owner, p.cfg.Name, sha, opts)
		if err != nil {
			return found, err
		}
		for _, run := range page.CheckRuns {
			number, ours := CheckRunPullRequest(run.GetExternalID())
			if ours && run.GetID() > found.newest.GetID() {
				found.newest = run
			}
			if ours && number == p.cfg.Number && run.GetID() > found.own.GetID() {
				found.own = run
			}
		}
		if resp.NextPage <= opts.Page {
			return found, nil
		}
		opts.Page = resp.NextPage
	}
	return found, fmt.Errorf("list the check runs of %.7s: there are more than %d; push another commit", sha, maxPages*opts.PerPage)
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

// output returns a request's part of the annotations.
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
