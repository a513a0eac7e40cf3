package editor

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

// A Runner runs cases of the files as they are, one run at a time. It is safe for
// concurrent use.
type Runner interface {
	// Start starts a run of the cases that keys or files select, or of all cases without
	// names. A fresh one judges again what has a stored verdict. It returns false and starts
	// none while another run is going on.
	Start(names []string, fresh bool) bool
	// Estimate returns what a fresh run of cases would take, such as "2 cases: about 12 calls,
	// $0.04". The error says to a person why there would be none.
	Estimate(ctx context.Context, names []string) (string, error)
	// State returns the state of the last run.
	State() RunState
	// Cancel ends the run early.
	Cancel()
}

// A RunState is the state of a run. The zero state means that none was started.
type RunState struct {
	Running bool
	// Fresh says that stored verdicts are not reused.
	Fresh bool
	// Done of Total cases are judged; Total is 0 while the run is prepared.
	Done, Total int
	// Run is the id of the ended run; empty if it has no report.
	Run string
	// Canceled says that the run was ended early, and Problem why it has no result. Refused
	// says that nothing was judged because of it.
	Canceled, Refused bool
	Problem           string
	// Names are the names that the run was started with.
	Names []string
}

// RunPath is the page of the run that is going on. A form with the field key or file
// starts one. Its subpath again asks before it starts one that judges again.
const RunPath = TestsPath + "/run"

// An againView asks whether cases are judged again.
type againView struct {
	Token string
	// Files and Keys name the cases; there are none for all.
	Files, Keys []string
	// Estimate is what it takes, and Problem the reason why it cannot run.
	Estimate, Problem string
}

// A runView is the page of a run that is going on, or that ended without a report.
type runView struct {
	RunState
	Token string
	// Busy says that another run was asked for.
	Busy bool
	// Head is the name of the run on the board.
	Head string
	// Repaired says that what refused the run does so no more.
	Repaired bool
}

// runRoutes adds the pages of runs to the answers.
func (s *Store) runRoutes(answers map[string]answer) {
	if s.cfg.Runner == nil {
		return
	}
	answers["GET "+RunPath] = s.showRun
	answers["GET "+RunPath+"/again"] = s.askAgain
	answers["POST "+RunPath] = s.startRun
	answers["POST "+RunPath+"/cancel"] = s.cancelRun
}

// startRun starts a run of the cases that a form names.
func (s *Store) startRun(w http.ResponseWriter, r *http.Request) (page, error) {
	to := s.address(RunPath)
	if !s.cfg.Runner.Start(namesIn(r.PostForm), r.PostForm.Has("again")) {
		to = s.address(RunPath, "busy", "yes")
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return page{}, nil
}

// namesIn returns the names of the cases in a form.
func namesIn(form url.Values) []string {
	var names []string
	for _, name := range slices.Concat(form["file"], form["key"]) {
		names = append(names, literal(name))
	}
	return append(names, form["name"]...)
}

// askAgain shows what it takes to judge cases again that have a verdict.
func (s *Store) askAgain(w http.ResponseWriter, r *http.Request) (page, error) {
	q := r.URL.Query()
	v := againView{Token: access.FormToken(w, r), Files: q["file"], Keys: q["key"]}
	var err error
	if v.Estimate, err = s.cfg.Runner.Estimate(r.Context(), namesIn(q)); err != nil {
		v.Problem = err.Error()
	}
	return page{Template: "test-again", Title: "Judge again", Body: v}, nil
}

// literal returns a glob that matches a name and nothing else.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// cancelRun ends the run early.
func (s *Store) cancelRun(w http.ResponseWriter, r *http.Request) (page, error) {
	s.cfg.Runner.Cancel()
	http.Redirect(w, r, s.address(RunPath), http.StatusSeeOther)
	return page{}, nil
}

// showRun shows a run that is going on, and leads to the page of one that has ended.
func (s *Store) showRun(w http.ResponseWriter, r *http.Request) (page, error) {
	v := runView{RunState: s.cfg.Runner.State(), Token: access.FormToken(w, r), Busy: r.URL.Query().Has("busy"), Head: controller.Worktree}
	switch {
	case v.Running:
		return page{Template: "test-run", Title: "Run", Body: v, Live: true}, nil
	case v.Run != "":
		http.Redirect(w, r, s.address("/runs/"+v.Run), http.StatusSeeOther)
		return page{}, nil
	case v.Problem == "" && !v.Canceled:
		http.Redirect(w, r, s.address(TestsPath), http.StatusSeeOther)
		return page{}, nil
	}
	if v.Refused { // the reason may be another one by now, or none
		_, err := s.cfg.Runner.Estimate(r.Context(), v.Names)
		if v.Repaired = err == nil; err != nil {
			v.Problem = err.Error()
		}
	}
	return page{Template: "test-run", Title: "Run", Body: v}, nil
}
