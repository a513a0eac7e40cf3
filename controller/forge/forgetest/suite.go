package forgetest

import (
	"net/http"
	"slices"
	"strconv"
)

// A suite groups an App's check runs of a commit.
type suite struct {
	id, app int64
	sha     string
	branch  any // its name; nil if the commit is on no branch
	// reset means that it was re-requested and not answered yet.
	reset bool
}

// Rerequest re-requests the check runs of a commit, as a click by a person with write
// permission does: their suites are queued again, and the runs do not change.
func (f *Forge) Rerequest(sha string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.suites {
		f.suites[i].reset = f.suites[i].reset || f.suites[i].sha == sha
	}
}

// suiteOf returns an App's suite at a commit, and creates it if it is missing.
func (f *Forge) suiteOf(app int64, sha string) *suite {
	i := slices.IndexFunc(f.suites, func(s suite) bool { return s.app == app && s.sha == sha })
	if i < 0 {
		i = len(f.suites)
		f.lastID++
		f.suites = append(f.suites, suite{id: f.lastID, app: app, sha: sha, branch: f.branchOf(sha)})
	}
	return &f.suites[i]
}

// branchOf returns the branch whose tip is the commit according to a pull request, or
// nil.
func (f *Forge) branchOf(sha string) any {
	for _, p := range f.pulls {
		switch sha {
		case p.BaseSHA:
			return p.BaseRef
		case p.HeadSHA:
			if p.HeadRepo == Repository {
				return p.HeadRef
			}
		}
	}
	return nil
}

// pushed creates the suites of a head: each App that may write check runs has one from
// then on, even if it never writes one.
func (f *Forge) pushed(p Pull) {
	for id, app := range f.apps {
		if may := app.Permissions; (may == nil || may["checks"] == "write") && p.HeadRepo == Repository {
			f.suiteOf(id, p.HeadSHA)
		}
	}
}

// listSuites lists a commit's suites, the oldest first.
func (f *Forge) listSuites(w http.ResponseWriter, r *http.Request) {
	if !f.canCheck(w, r) {
		return
	}
	values := []any{}
	app := r.URL.Query().Get("app_id")
	for _, s := range f.suites {
		if s.sha == r.PathValue("sha") && (app == "" || app == strconv.FormatInt(s.app, 10)) {
			values = append(values, f.suiteJSON(s))
		}
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(values), "check_suites": page(w, r, values)})
}

func (f *Forge) suiteJSON(s suite) map[string]any {
	latest := map[string]CheckRun{}
	for _, c := range f.checks {
		if c.Suite.ID == s.id {
			latest[c.Name] = c
		}
	}
	status, conclusion := summary(latest)
	if s.reset {
		status, conclusion = "queued", nil
	}
	return map[string]any{
		"id": s.id, "head_sha": s.sha, "head_branch": s.branch, "status": status, "conclusion": conclusion,
		"latest_check_runs_count": len(latest), "app": map[string]any{"id": s.app},
	}
}

// summary combines the newest check runs of each name: the most severe conclusion, once
// all are completed.
func summary(latest map[string]CheckRun) (status string, conclusion any) {
	if len(latest) == 0 {
		return "queued", nil
	}
	weights := []string{"skipped", "neutral", "success", "cancelled", "timed_out", "action_required", "failure"}
	heaviest := 0
	for _, c := range latest {
		if c.Status != completed {
			return "in_progress", nil
		}
		heaviest = max(heaviest, slices.Index(weights, c.Conclusion))
	}
	return completed, weights[heaviest]
}
