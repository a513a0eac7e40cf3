package forgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// A CheckRun is a check run that was written.
type CheckRun struct {
	ID         int64       `json:"id"`
	Name       string      `json:"name"`
	HeadSHA    string      `json:"head_sha"`
	ExternalID string      `json:"external_id"`
	DetailsURL string      `json:"details_url"`
	Status     string      `json:"status"`
	Conclusion string      `json:"conclusion"`
	Output     CheckOutput `json:"output"`
	Suite      Suite       `json:"check_suite"`
	Requests   []int       `json:"-"` // number of annotations in each write
	app        int64
}

// A Suite identifies a check run's suite.
type Suite struct {
	ID int64 `json:"id"`
}

const completed = "completed"

// A CheckOutput is the visible output of a check run.
type CheckOutput struct {
	Title       string       `json:"title"`
	Summary     string       `json:"summary"`
	Annotations []Annotation `json:"annotations,omitempty"`
	Count       int          `json:"annotations_count"`
}

// An Annotation is shown at lines of a file.
type Annotation struct {
	Path        string `json:"path"`
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	StartColumn int    `json:"start_column,omitempty"`
	EndColumn   int    `json:"end_column,omitempty"`
	Level       string `json:"annotation_level"`
	Title       string `json:"title"`
	Message     string `json:"message"`
}

// CheckRuns returns a commit's check runs, oldest first.
func (f *Forge) CheckRuns(sha string) []CheckRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []CheckRun
	for _, c := range f.checks {
		if c.HeadSHA == sha {
			found = append(found, c)
		}
	}
	return found
}

// canCheck refuses every account except Apps and jobs, and Gitea, which has no check
// runs.
func (f *Forge) canCheck(w http.ResponseWriter, r *http.Request) bool {
	who, _ := f.accountOf(bearer(r))
	switch {
	case isGitea(r):
		notFound(w)
	case !who.app && r.Method != http.MethodGet:
		refuse(w, http.StatusForbidden, "You must authenticate via a GitHub App.")
	default:
		return true
	}
	return false
}

func (f *Forge) listChecks(w http.ResponseWriter, r *http.Request) {
	if !f.canCheck(w, r) {
		return
	}
	query := r.URL.Query()
	values := []any{}
	for _, c := range slices.Backward(f.checks) { // the newest first
		name := query.Get("check_name")
		if c.HeadSHA == r.PathValue("sha") && (name == "" || name == c.Name) {
			values = append(values, c.shown())
		}
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(values), "check_runs": page(w, r, values)})
}

// shown returns a check run with only the number of its annotations.
func (c CheckRun) shown() any {
	c.Output.Count, c.Output.Annotations = len(c.Output.Annotations), nil
	return struct {
		CheckRun
		App any `json:"app"`
	}{c, map[string]any{"id": c.app}}
}

// checkRun merges a write into c: annotations are added.
func checkRun(w http.ResponseWriter, r *http.Request, c CheckRun) (CheckRun, bool) {
	before := c.Output.Annotations
	c.Output.Annotations = nil
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return c, false
	}
	if c.Status == "" && c.Conclusion != "" {
		c.Status = completed
	}
	c.Requests = append(c.Requests, len(c.Output.Annotations))
	c.Output.Annotations = append(before, c.Output.Annotations...)
	return c, true
}

func (f *Forge) createCheck(w http.ResponseWriter, r *http.Request) {
	if !f.canCheck(w, r) {
		return
	}
	c, ok := checkRun(w, r, CheckRun{})
	if !ok {
		return
	}
	who, _ := f.accountOf(bearer(r))
	f.lastID++
	c.ID, c.app = f.lastID, who.id
	in := f.suiteOf(c.app, c.HeadSHA)
	c.Suite.ID, in.reset = in.id, false
	f.checks = append(f.checks, c)
	reply(w, http.StatusCreated, c.shown())
}

func (f *Forge) updateCheck(w http.ResponseWriter, r *http.Request) {
	if !f.canCheck(w, r) {
		return
	}
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	i := slices.IndexFunc(f.checks, func(c CheckRun) bool { return c.ID == id })
	if i < 0 {
		notFound(w)
		return
	}
	c, ok := checkRun(w, r, f.checks[i])
	if !ok {
		return
	}
	// GitHub does not document the suite's state after a completed run is written: here
	// it does not change.
	if c.Status == completed && f.checks[i].Status != completed {
		f.suiteOf(c.app, c.HeadSHA).reset = false
	}
	f.checks[i] = c
	reply(w, http.StatusOK, c.shown())
}
