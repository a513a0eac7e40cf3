// Package dashboard has the pages that show what is stored in a ledger: runs, their
// cases with conversations and history, and comparisons of runs. It only reads.
//
// Most callers want [New]. Every page works without JavaScript, loads nothing from
// another host, and escapes what a repository or a model says.
package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/reporters/html/parts"
)

// A Config says what is shown.
type Config struct {
	Book *ledger.Ledger
	// Repository is the one whose runs are shown. Defaults to all.
	Repository string
	// Files opens the files of a commit, or of the working tree, so that definitions
	// are shown. Defaults to showing none.
	Files func(ctx context.Context, commit string) (fs.FS, error)
	// Hide takes secrets out of every text. Defaults to [redact.Text].
	Hide func(string) string
	// Root is the path before all paths, such as /r/shop. Defaults to none.
	Root string
	// Links are further entries of the navigation.
	Links []Link
	// Title is what the pages are about, such as the name of the repository.
	Title string
}

// A Link is an entry of the navigation.
type Link struct{ Path, Text string }

//go:embed pages/*.tmpl
var pageFiles embed.FS

//go:embed static/pages.css
var ownStyle string

//go:embed static/pages.js
var script []byte

// style is that of the parts and of these pages.
var style = []byte(parts.Style + ownStyle)

// A Site shows the pages.
type Site struct {
	cfg     Config
	mux     *http.ServeMux
	reports *shelf
	reading sync.Mutex // held while files are read
}

// New makes the pages. The caller puts them behind a guard.
func New(cfg Config) *Site {
	if cfg.Hide == nil {
		cfg.Hide = redact.Text
	}
	s := &Site{cfg: cfg, mux: http.NewServeMux(), reports: newShelf(cfg.Book)}
	s.page("/{$}", s.runs)
	s.page("/runs/{run}", s.run)
	s.page("/runs/{run}/case", s.runCase)
	s.page("/runs/{run}/targets", s.runTargets)
	s.page("/compare", s.compare)
	s.page("/costs", s.costs)
	s.page("/scores", s.scores)
	s.mux.HandleFunc("GET "+cfg.Root+"/badge.svg", s.badge)
	s.file(stylePath, "text/css; charset=utf-8", style)
	s.file(scriptPath, "text/javascript; charset=utf-8", script)
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
	// Body is what the template is given.
	Body any
}

// errNoPage means that nothing is at a path.
var errNoPage = errors.New("there is no such page")

// A mistake is what is wrong with an address.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

// page answers GET requests of a path with what make returns.
func (s *Site) page(path string, make func(*http.Request) (view, error)) {
	s.mux.HandleFunc("GET "+s.cfg.Root+path, func(w http.ResponseWriter, r *http.Request) {
		v, err := make(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		v.Title, v.Body = s.cfg.Hide(v.Title), redact.In(v.Body, s.cfg.Hide)
		s.write(w, r, http.StatusOK, v)
	})
}

func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var wrong *mistake
	switch {
	case errors.Is(err, ledger.ErrNoRun), errors.Is(err, errNoPage):
		status = http.StatusNotFound
	case errors.As(err, &wrong):
		status = http.StatusBadRequest
	case r.Context().Err() != nil:
		return // nobody waits any more
	}
	if strings.HasPrefix(r.URL.Path, s.cfg.Root+"/api/") {
		writeJSON(w, status, map[string]any{"success": false, "error": s.cfg.Hide(err.Error())})
		return
	}
	s.write(w, r, status, view{"error", http.StatusText(status), s.cfg.Hide(err.Error())})
}

// shell is what surrounds every page.
type shell struct {
	Root, Site, Title, Path string
	Style, Script           string
	Links                   []Link
	Body                    template.HTML
}

var (
	stylePath  = "/static/" + digest(style) + ".css"
	scriptPath = "/static/" + digest(script) + ".js"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

var templates = template.Must(parts.Templates(template.New("").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
})).ParseFS(pageFiles, "pages/*.tmpl"))

func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, v view) {
	var body bytes.Buffer
	if err := templates.ExecuteTemplate(&body, v.Template, v.Body); err != nil {
		http.Error(w, s.cfg.Hide(err.Error()), http.StatusInternalServerError)
		return
	}
	s.Frame(w, r, Framed{Status: status, Title: v.Title, Body: template.HTML(body.String())}) //nolint:gosec // the template escaped it
}

// A Framed is a page of another package that is shown within the navigation of the
// site.
type Framed struct {
	Status int
	Title  string
	Body   template.HTML
}

// Frame writes a page with the navigation around it.
func (s *Site) Frame(w http.ResponseWriter, r *http.Request, f Framed) {
	root := s.cfg.Root
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, "shell", shell{
		Root: root, Site: s.cfg.Title, Title: f.Title, Path: r.URL.Path, Links: s.cfg.Links,
		Style: root + stylePath, Script: root + scriptPath, Body: f.Body,
	})
	if err != nil {
		http.Error(w, s.cfg.Hide(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(f.Status)
	_, _ = w.Write(out.Bytes()) // nobody is left to be told
}

// file serves a file whose path changes with its content.
func (s *Site) file(path, kind string, data []byte) {
	s.mux.HandleFunc("GET "+s.cfg.Root+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "max-age=31536000, immutable")
		_, _ = w.Write(data) // nobody is left to be told
	})
}

// runURL is the path of a run.
func (s *Site) runURL(run string) string { return s.cfg.Root + "/runs/" + url.PathEscape(run) }

// caseURL is the path of a case in a run.
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

// pageOf is the number of the page that a request asks for, from 0.
func pageOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 2 {
		return 0
	}
	return min(n-1, 1_000_000)
}

// paged is the pager of a list of total rows.
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

// cut is the part of a list that a page shows.
func cut[T any](list []T, n int) []T {
	return list[min(n*perPage, len(list)):min((n+1)*perPage, len(list))]
}
