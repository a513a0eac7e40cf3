package portal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// lookEnd is the end of the path that requests a new look at a pull request.
const lookEnd = "/look"

// A pullRow is an open pull request with its state.
type pullRow struct {
	Number  int      `json:"number"`
	Title   string   `json:"title"`
	Author  string   `json:"author"`
	Head    string   `json:"head"`
	State   string   `json:"state"`
	Reason  string   `json:"reason"`
	Score   *float64 `json:"score"`
	Run     *string  `json:"run"`
	IsDraft bool     `json:"draft"`
	IsFork  bool     `json:"fork"`

	URL   string `json:"-"` // of the run, or empty
	Forge string `json:"-"`
	Look  string `json:"-"`
}

// Short is the beginning of the head.
func (p pullRow) Short() string { return p.Head[:min(len(p.Head), 7)] }

// Points is the score in words.
func (p pullRow) Points() string { return textfmt.Score(p.Score, 2) }

// The states of a pull request besides the results of the gate.
const (
	stateJudging = "judging"
	stateQueued  = "waiting"
	stateWaiting = "not judged"
)

// mostPulls is how many pull requests are listed of a repository, and firstPulls on the
// page of all repositories.
const (
	mostPulls  = 200
	firstPulls = 10
)

// pullRows returns the newest open pull requests of a repository, with the results for
// their heads, at most as many as wanted.
func (p *portal) pullRows(ctx context.Context, w serve.RepositoryView, most int) ([]pullRow, error) {
	out := []pullRow{}
	if len(w.Pulls) == 0 {
		return out, nil
	}
	runs, err := ledger.NewestOfHeads(ctx, p.cfg.Ledger, w.Known)
	if err != nil {
		return nil, err
	}
	for _, pull := range w.Pulls[:min(len(w.Pulls), most)] {
		row, err := p.pullRow(ctx, w, pull, runs[ledger.PullHead{PullRequest: pull.Number, Head: pull.HeadSHA}])
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// pullRow returns a pull request whose head was judged in a run, or in none. A head
// that is being judged again shows its known result until its cases are judged.
func (p *portal) pullRow(ctx context.Context, w serve.RepositoryView, pull forge.Pull, run string) (pullRow, error) {
	row := pullRow{
		Number: pull.Number, Title: p.line(pull.Title), Author: p.line(pull.Author), Head: pull.HeadSHA, IsDraft: pull.Draft, IsFork: pull.Fork,
		State: stateWaiting, Look: rootOf(w) + "/pulls/" + strconv.Itoa(pull.Number) + lookEnd,
	}
	if strings.HasPrefix(w.WebURL, "https://") || strings.HasPrefix(w.WebURL, "http://") {
		row.Forge = fmt.Sprintf("%s/%s/pull/%d", w.WebURL, w.Name, pull.Number)
	}
	found, err := p.outcomes.load(ctx, run)
	switch {
	case err != nil:
		return row, err
	case slices.Contains(w.Judging, pull.HeadSHA) && (found == nil || p.cfg.Board == nil || p.cfg.Board.Tracks(pull.HeadSHA)):
		row.State = stateJudging
		if p.cfg.Board != nil {
			row.Reason = p.cfg.Board.Why(pull.HeadSHA)
		}
	case slices.Contains(w.Queued, pull.HeadSHA) && found == nil:
		row.State, row.Reason = stateQueued, controller.QueuedReason
	case found != nil:
		row.State, row.Reason, row.Score = found.Gate, p.line(found.Reason), found.Score
		row.Run, row.URL = &run, rootOf(w)+"/runs/"+run
	}
	return row, nil
}

// line returns a foreign text on one line.
func (p *portal) line(text string) string { return textfmt.Clip(textfmt.Line(p.cfg.Hide(text)), 200) }

// A repositoryRow is a repository with its newest run and open pull requests.
type repositoryRow struct {
	Name    string    `json:"name"`
	Private bool      `json:"private"`
	Branch  string    `json:"branch"`
	Gate    *string   `json:"gate"`
	Score   *float64  `json:"score"`
	Pulls   []pullRow `json:"pull_requests"`
	More    int       `json:"more"` // pull requests that are not in Pulls

	Root string `json:"-"`
	When string `json:"-"`
}

// Result is the gate of the newest run.
func (r repositoryRow) Result() string {
	if r.Gate == nil {
		return ""
	}
	return *r.Gate
}

// Points is the score in words.
func (r repositoryRow) Points() string { return textfmt.Score(r.Score, 2) }

// rows returns the repositories that a user may see, each with at most as many pull
// requests as wanted.
func (p *portal) rows(r *http.Request, most int) ([]repositoryRow, error) {
	out := []repositoryRow{}
	for _, w := range p.cfg.Server.Repositories() {
		if role(r, w) < access.See {
			continue
		}
		row := repositoryRow{Name: w.Known, Private: w.Private, Branch: w.Branch, Root: rootOf(w) + "/"}
		var err error
		if row.Pulls, err = p.pullRows(r.Context(), w, most); err != nil {
			return nil, err
		}
		row.More = len(w.Pulls) - len(row.Pulls)
		run, err := ledger.NewestOfBranch(r.Context(), p.cfg.Ledger, w.Known)
		if err != nil {
			return nil, err
		}
		newest, err := p.outcomes.load(r.Context(), run)
		if err != nil {
			return nil, err
		}
		if newest != nil {
			row.Gate, row.Score, row.When = &newest.Gate, newest.Score, newest.When
		}
		out = append(out, row)
	}
	return out, nil
}

// repositories is the first page.
func (p *portal) repositories(w http.ResponseWriter, r *http.Request) {
	rows, err := p.rows(r, firstPulls)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.write(w, r, view{Template: "repositories", Title: "Repositories", Status: http.StatusOK, Refresh: 30, Body: struct {
		Rows     []repositoryRow
		IsKnown  bool
		SignPath string
	}{rows, access.UserOf(r) != nil, signPath}})
}

// apiRepositories is the first page as JSON.
func (p *portal) apiRepositories(w http.ResponseWriter, r *http.Request) {
	rows, err := p.rows(r, mostPulls)
	p.answer(w, map[string]any{"repositories": rows}, err)
}

func (p *portal) answer(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		body = map[string]any{"success": false, "error": p.cfg.Hide(err.Error())}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // the client is gone
}

// pulls is the page of the open pull requests of a repository.
func (p *portal) pulls(w http.ResponseWriter, r *http.Request, site *dashboard.Site) {
	repo := watchedOf(r.Context())
	rows, err := p.pullRows(r.Context(), repo, mostPulls)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	var out bytes.Buffer
	err = templates().ExecuteTemplate(&out, "pulls", struct {
		Rows     []pullRow
		More     int
		MayLook  bool
		HasForge bool
		Token    string
		Field    string
	}{rows, len(repo.Pulls) - len(rows), role(r, repo) >= access.Judge, repo.Client != nil, access.FormToken(w, r), access.FormField})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	site.Frame(w, r, dashboard.Page{
		Status: http.StatusOK, Title: "Pull requests", Body: template.HTML(out.String()), //nolint:gosec // the template escaped it
		Refresh: 30, Live: rootOf(repo) + "/api/events",
	})
}

// apiPulls is the page of pull requests as JSON.
func (p *portal) apiPulls(w http.ResponseWriter, r *http.Request) {
	repo := watchedOf(r.Context())
	rows, err := p.pullRows(r.Context(), repo, mostPulls)
	p.answer(w, map[string]any{"pull_requests": rows, "more": len(repo.Pulls) - len(rows)}, err)
}

// recheckPull makes a pull request due.
func (p *portal) recheckPull(w http.ResponseWriter, r *http.Request) {
	repo := watchedOf(r.Context())
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || !slices.ContainsFunc(repo.Pulls, func(pull forge.Pull) bool { return pull.Number == number }) {
		p.missing(w, r)
		return
	}
	p.cfg.Server.Recheck(repo, number)
	http.Redirect(w, r, rootOf(repo)+"/pulls", http.StatusSeeOther)
}

// A costRow is the cost of a repository within some days.
type costRow struct {
	Name, Root, Calls, Tokens, Cost string
	Runs                            int
}

// costDays is over how many days costs are added up.
const costDays = 30

// costs is the page with the costs of the repositories.
func (p *portal) costs(w http.ResponseWriter, r *http.Request) {
	since := p.cfg.Now().Add(-costDays * 24 * time.Hour)
	spent, err := p.spent.Spent(r.Context(), since)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	var rows []costRow
	for _, watched := range p.cfg.Server.Repositories() {
		if role(r, watched) < access.See {
			continue
		}
		s := spent[watched.Known]
		rows = append(rows, costRow{
			watched.Known, rootOf(watched) + "/costs", textfmt.Int(s.Calls), textfmt.Int(s.Tokens), textfmt.Spent(s.USD, s.Unpriced), s.Runs,
		})
	}
	p.write(w, r, view{Template: "costs", Title: "Costs", Status: http.StatusOK, Body: struct {
		Rows []costRow
		Days int
	}{rows, costDays}})
}
