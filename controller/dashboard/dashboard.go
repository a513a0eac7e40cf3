// Package dashboard has the pages that show the contents of a ledger: runs, their cases
// with conversations and history, and comparisons of runs. It only reads.
//
// Most callers want [New]. Every page works without JavaScript, loads nothing from
// another host, and escapes all text of repositories and models.
package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Config describes the pages.
type Config struct {
	Ledger *ledger.Ledger
	// Repository is the one whose runs are shown. Defaults to all.
	Repository string
	// Files opens the files of a commit, or of the working tree, so that definitions
	// are shown. Defaults to showing none.
	Files func(ctx context.Context, commit string) (fs.FS, error)
	// Edit returns the address below Root where a case of a file is edited. Defaults to none.
	Edit func(file, key string) string
	// Run is the path below Root of a form that runs the case in its field "key". Its
	// subpath again asks before the case is judged again. Defaults to none.
	Run string
	// Hide removes secrets from every text. Defaults to [redact.Text].
	Hide func(string) string
	// Root is the path before all addresses on the pages, such as /r/shop. A caller
	// that sets it strips it from the requests. Defaults to none.
	Root string
	// Home is the link of the program's name. Defaults to the list of runs.
	Home string
	// Links returns further entries of the navigation. Defaults to none.
	Links func(*http.Request) []Link
	// Trouble returns what prevents every run, and the path of a page about it. Each page
	// shows it. Defaults to nothing.
	Trouble func(*http.Request) (text, path string)
	// Title is the subject of the pages, such as the name of the repository.
	Title string
	// Board has the commits that are being judged. Defaults to none.
	Board *Board
	// Streams bounds the pages that follow changes. Defaults to no bound.
	Streams *access.StreamLimit
}

//go:embed pages/*.tmpl
var pageFiles embed.FS

// A Site shows the pages.
type Site struct {
	cfg     Config
	shell   *Frame
	mux     *http.ServeMux
	reports *shelf
	spent   *ledger.RunCosts
	judged  lastVerdicts
	reading sync.Mutex // held while files are read
}

// New makes the pages. The caller puts them behind a guard.
func New(cfg Config) *Site {
	if cfg.Hide == nil {
		cfg.Hide = redact.Text
	}
	s := &Site{cfg: cfg, mux: http.NewServeMux(), reports: newShelf(cfg.Ledger, cfg.Repository, cfg.Hide), spent: ledger.NewRunCosts(cfg.Ledger)}
	s.shell = NewFrame(FrameConfig{Root: cfg.Root, Home: cfg.Home, Title: cfg.Title, Hide: cfg.Hide, Trouble: cfg.Trouble, Links: func(r *http.Request) []Link {
		links := []Link{{Path: "/", Text: "Runs"}, {Path: "/scores", Text: "Scores"}, {Path: "/costs", Text: "Costs"}}
		if cfg.Links != nil {
			links = append(links, cfg.Links(r)...)
		}
		return links
	}})
	s.page("/{$}", s.runs)
	s.page("/runs/{run}", s.run)
	s.page("/runs/{run}/case", s.runCase)
	s.page("/runs/{run}/targets", s.runTargets)
	s.page("/runs/{run}/timeline", s.runTimeline)
	s.page("/runs/{run}/ab", s.runAB)
	s.page("/runs/{run}/judges", s.runJudges)
	s.page("/compare", s.compare)
	s.page("/costs", s.costs)
	s.page("/scores", s.scores)
	s.mux.HandleFunc("GET /badge.svg", s.badge)
	s.mux.Handle("GET /static/", Assets())
	s.mux.HandleFunc("GET "+livePath, s.live)
	s.api()
	return s
}

// ServeHTTP answers with a page.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.fail(w, r, errNoPage)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// A view is a page with the name of its template and its title.
type view struct {
	Template, Title string
	// Body is the data of the template.
	Body any
	// Live says that the page reloads when there is a newer run.
	Live bool
}

// errNoPage means that nothing is at a path.
var errNoPage = errors.New("this page does not exist")

// A mistake is an error in an address.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

// page answers GET requests of a path with the result of make.
func (s *Site) page(path string, make func(*http.Request) (view, error)) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		v, err := make(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		v.Title, v.Body = s.cfg.Hide(v.Title), redact.Apply(v.Body, s.cfg.Hide)
		if body, ok := v.Body.(caseBody); ok && body.RunPath != "" {
			body.Token = access.FormToken(w, r) // it looks like a secret
			v.Body = body
		}
		s.write(w, r, http.StatusOK, v)
	})
}

func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var wrong *mistake
	switch {
	case errors.Is(err, ledger.ErrNoRun):
		// A visitor has no use for the path of the ledger.
		status, err = http.StatusNotFound, errors.New("the ledger does not have this run; gavel ledger gc may have removed it")
	case errors.Is(err, errNoPage):
		status = http.StatusNotFound
	case errors.As(err, &wrong):
		status = http.StatusBadRequest
	case r.Context().Err() != nil:
		return // the client is gone
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		writeJSON(w, status, map[string]any{"success": false, "error": s.cfg.Hide(err.Error())})
		return
	}
	s.write(w, r, status, view{Template: "error", Title: http.StatusText(status), Body: struct{ Text, Start string }{s.cfg.Hide(err.Error()), s.cfg.Root + "/"}})
}

// templates are parsed when the first page is written, which most commands do not do.
var templates = sync.OnceValue(func() *template.Template {
	add := template.FuncMap{"add": func(a, b int) int { return a + b }, "sentence": textfmt.Sentence}
	return template.Must(html.Templates(template.New("").Funcs(add)).ParseFS(pageFiles, "pages/*.tmpl"))
})

func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, v view) {
	var body bytes.Buffer
	if err := templates().ExecuteTemplate(&body, v.Template, v.Body); err != nil {
		http.Error(w, s.cfg.Hide(err.Error()), http.StatusInternalServerError)
		return
	}
	framed := Page{Status: status, Title: v.Title, Body: template.HTML(body.String())} //nolint:gosec // the template escaped it
	if v.Live {
		framed.Live, framed.Refresh = s.cfg.Root+livePath, refresh
	}
	s.Frame(w, r, framed)
}

// Frame writes a page of another package with the navigation around it.
func (s *Site) Frame(w http.ResponseWriter, r *http.Request, f Page) { s.shell.Write(w, r, f) }

// livePath is where a page learns of newer runs, and refresh after how many seconds a
// browser without JavaScript reloads it.
const (
	livePath = "/api/events"
	refresh  = 30
)

// A liveState is a short form of a list of runs.
type liveState struct {
	Newest  string       `json:"newest"`
	Judging []BoardEntry `json:"judging"`
}

// live reports newer runs, and the progress of the commits that are being judged.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	cfg := EventSource{State: func(ctx context.Context) (any, error) {
		newest, err := ledger.RunOfCommit(ctx, s.cfg.Ledger, s.cfg.Repository, "")
		state := liveState{newest, []BoardEntry{}}
		if s.cfg.Board != nil {
			state.Judging = append(state.Judging, s.cfg.Board.All()...)
		}
		return state, err
	}}
	if s.cfg.Board != nil {
		cfg.Changed = s.cfg.Board.Changed
	}
	leave, ok := s.cfg.Streams.Enter(r)
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many pages are followed at once; load this one again later", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	if err := StreamEvents(w, r, cfg); err != nil {
		s.fail(w, r, err)
	}
}

// runURL returns the path of a run.
func (s *Site) runURL(run string) string { return s.cfg.Root + "/runs/" + url.PathEscape(run) }

// caseURL returns the path of a case in a run.
func (s *Site) caseURL(run, name string) string {
	return s.runURL(run) + "/case?" + url.Values{"name": {name}}.Encode()
}

// perPage is how many rows a page has.
const perPage = 50

// A pager leads to the other pages of a list.
type pager struct {
	From, To, Total int
	Previous, Next  string
}

// pageOf returns the number of the requested page, from 0.
func pageOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 2 {
		return 0
	}
	return min(n-1, 1_000_000)
}

// paged returns the pager of a list with total rows.
func paged(r *http.Request, total int) pager {
	n := pageOf(r)
	p := pager{From: min(n*perPage+1, total), To: min((n+1)*perPage, total), Total: total}
	at := func(page int) string {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(page))
		return "?" + q.Encode()
	}
	if n > 0 {
		p.Previous = at(n)
	}
	if (n+1)*perPage < total {
		p.Next = at(n + 2)
	}
	return p
}

// cut returns the part of a list that a page shows.
func cut[T any](list []T, n int) []T {
	return list[min(n*perPage, len(list)):min((n+1)*perPage, len(list))]
}
