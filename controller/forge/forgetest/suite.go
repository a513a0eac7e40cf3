package forgetest

import (
	"net/http"
	"slices"
	"strconv"
)

// A suite is what an App's check runs of a commit are in.
type suite struct {
	id, app int64
	sha     string
	branch  any // its name; nil where the commit was pushed to none
	// reset means that somebody asked for it again, and nothing came since.
	reset bool
}

// Rerequest asks for the check runs of a commit again, as a click of somebody who
// may write does: their suites are queued again, and the runs stay as they are.
func (f *Forge) Rerequest(sha string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.suites {
		f.suites[i].reset = f.suites[i].reset || f.suites[i].sha == sha
	}
}

// suiteOf is the suite of an App at a commit, which is made where there is none.
func (f *Forge) suiteOf(app int64, sha string) *suite {
	i := slices.IndexFunc(f.suites, func(s suite) bool { return s.app == app && s.sha == sha })
	if i < 0 {
		i = len(f.suites)
		f.lastID++
		f.suites = append(f.suites, suite{id: f.lastID, app: app, sha: sha, branch: f.branchOf(sha)})
	}
	return &f.suites[i]
}

// branchOf is a branch of the repository whose tip a pull request says that the
// commit is, nil for none.
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

// pushed makes the suites of a head: each App that may write check runs has one
// from then on, whether it ever writes one or not.
func (f *Forge) pushed(p Pull) {
	for id, app := range f.apps {
		if may := app.Permissions; (may == nil || may["checks"] == "write") && p.HeadRepo == Repository {
			f.suiteOf(id, p.HeadSHA)
		}
	}
}

// listSuites lists those of a commit, the oldest first.
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

// summary is what the newest check runs of each name come to: the conclusion
// that weighs most, once all of them are completed.
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
