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
	levelWarning Level = "warning"
	LevelFailure Level = "failure"
)

// SetCheck makes c the check run of the commit sha. It is found again by commit,
// name and what it says, so that the same is written once, whatever became of
// the answer. One that says something else is made again, because
// annotations cannot be removed; forges show the newest of a name. One without
// annotations says nothing that the statuses do not say: it is made only where
// there is one already, or where somebody asked for it. Where other pull requests have
// the commit, its conclusion is the worst that their statuses say.
func (p *Publisher) SetCheck(ctx context.Context, sha string, c Check) error {
	op := fmt.Sprintf("set check run %s of %s/%s@%.12s", CheckName, p.cfg.Owner, p.cfg.Name, sha)
	var before *gh.CheckRun // that does not count any more
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
		default: // another process may have made one meanwhile
			before, c.Again = nil, false
		}
	}
	return p.explain(op, writeChecks, lost)
}

// shownCheck is what the commit has to say now that c is what the publisher's subject
// says; nil where that has not the commit any more.
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
		if !head { // somebody asked for it, and it says what the others say
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

// conclusion is that of a check run. One that is pending is not green.
func (c claim) conclusion() string {
	switch {
	case c.state == StateSuccess:
		return ConclusionSuccess
	case c.hold != "" || c.state == StatePending:
		return conclusionActionRequired
	}
	return ConclusionFailure
}

// leaveCheck makes a check run that says what others say of a commit, where the newest
// one says another thing.
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

// CheckRunPullRequest is the pull request that a check run of ours is about, 0 for none, by
// its external id. It reports false for every other check run.
func CheckRunPullRequest(externalID string) (number int, ours bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(externalID, idPrefix), ":")
	number, err := strconv.Atoi(text)
	return number, strings.HasPrefix(externalID, idPrefix) && err == nil && number >= 0
}

// setCheck looks, creates where there is none or only the one that does not
// count, and adds the annotations that are not there yet.
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
	// Forges show the newest one, which may be another pull request's.
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
		// A forge that tells no number is believed to have them all.
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

// checkRuns are our last check runs of a commit, nil where there is none: that of the
// publisher's pull request, and that of any.
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
