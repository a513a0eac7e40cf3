// Package portal has the pages of gavel serve: its repositories with their open pull
// requests, and below each the pages of its runs and its settings.
//
// Most callers want [New]. This package decides which repositories a request may see
// and change: a private repository exists only for users who may see it.
package portal

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

//go:embed pages/*.tmpl
var pageFiles embed.FS

// templates are parsed when the first page is written.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"sentence": textfmt.Sentence}).ParseFS(pageFiles, "pages/*.tmpl"))
})

// A Server is the server that the pages are about.
type Server interface {
	// Repositories returns the repositories that it keeps current.
	Repositories() []serve.RepositoryView
	// Recheck requests a new look at a pull request.
	Recheck(w serve.RepositoryView, number int)
	// Forecast returns the cases that a change of a repository's definitions would
	// judge; nil without a forecast.
	Forecast(ctx context.Context, w serve.RepositoryView, before, after fs.FS) (*editor.Forecast, error)
	// Digests returns the decision digests of the cases of a repository's files by name.
	Digests(ctx context.Context, w serve.RepositoryView, files fs.FS) (map[string]string, error)
}

// A Config describes the pages and their readers.
type Config struct {
	Server Server
	Ledger *ledger.Ledger
	Gate   *access.Gate
	// Hosts are the names of the server in addition to addresses and localhost.
	Hosts []string
	// Hide removes secrets from every text.
	Hide  func(string) string
	Board *dashboard.Board
	// Streams bounds the pages that follow changes. Defaults to no bound.
	Streams *access.StreamLimit
	// Secret signs forms. Defaults to a random one.
	Secret []byte
	// Now defaults to the real clock.
	Now func() time.Time
}

// A portal answers.
type portal struct {
	cfg   Config
	shell *dashboard.Frame
	mux   *http.ServeMux
	spent *ledger.RunCosts
	// outcomes are the outcomes of runs that lists show.
	outcomes outcomes

	mu sync.Mutex
	// houses are the pages of repositories by their place; guarded by mu.
	houses map[string]*house
}

// New answers requests for the pages.
func New(cfg Config) http.Handler {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := &portal{cfg: cfg, mux: http.NewServeMux(), spent: ledger.NewRunCosts(cfg.Ledger), outcomes: outcomes{ledger: cfg.Ledger}, houses: map[string]*house{}}
	p.shell = dashboard.NewFrame(dashboard.FrameConfig{Hide: cfg.Hide, Links: func(r *http.Request) []dashboard.Link {
		return []dashboard.Link{{Path: "/", Text: "Repositories"}, {Path: "/costs", Text: "Costs"}, signLink(r)}
	}})
	p.mux.HandleFunc("GET /{$}", p.repositories)
	p.mux.HandleFunc("GET /costs", p.costs)
	p.mux.HandleFunc("GET "+repositoriesPath, p.apiRepositories)
	p.mux.HandleFunc("GET "+signPath, p.signPage)
	p.mux.HandleFunc("POST "+signPath, p.signIn)
	p.mux.HandleFunc("POST /sign-out", p.signOut)
	p.mux.HandleFunc("/r/{owner}/{name}/", p.repository)
	p.mux.Handle("GET /static/", dashboard.Assets())
	p.mux.HandleFunc("/", p.missing)
	return access.Guard{Hosts: cfg.Hosts, AnyAddress: true, Secret: cfg.Secret}.Handler(cfg.Gate.Handler(p.mux))
}

// The paths that only a server answers. The second is below a repository's path.
const (
	repositoriesPath = "/api/repositories"
	pullsPath        = "/api/pulls"
)

// signPath is where people sign in.
const signPath = "/sign-in"

// signLink shows who is signed in, or links to the page for that.
func signLink(r *http.Request) dashboard.Link {
	if u := access.UserOf(r); u != nil {
		return dashboard.Link{Path: "/" + signPath, Text: "Signed in: " + u.Name}
	}
	return dashboard.Link{Path: "/" + signPath, Text: "Sign in"}
}

// A view is a page with the name of its template and its data.
type view struct {
	Template, Title string
	Status          int
	Refresh         int
	Body            any
}

// write writes a page.
func (p *portal) write(w http.ResponseWriter, r *http.Request, v view) {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, v.Template, v.Body); err != nil {
		http.Error(w, p.cfg.Hide(err.Error()), http.StatusInternalServerError)
		return
	}
	p.shell.Write(w, r, dashboard.Page{
		Status: v.Status, Title: v.Title, Refresh: v.Refresh, Body: template.HTML(out.String()), //nolint:gosec // the template escaped it
	})
}

// missing answers that nothing is at a path, or nothing for this user.
func (p *portal) missing(w http.ResponseWriter, r *http.Request) {
	if access.IsAPI(r.URL.Path) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("{\"success\": false, \"error\": \"nothing is here for you\"}\n")) // the client is gone
		return
	}
	p.write(w, r, view{Template: "missing", Title: "Not found", Status: http.StatusNotFound, Body: access.UserOf(r) != nil})
}

// fail answers why a page cannot be made.
func (p *portal) fail(w http.ResponseWriter, r *http.Request, err error) {
	p.write(w, r, view{Template: "failed", Title: "Error", Status: http.StatusInternalServerError, Body: p.cfg.Hide(err.Error())})
}

// role returns the role of a user in a repository.
func role(r *http.Request, w serve.RepositoryView) access.Role {
	out := max(access.UserOf(r).RoleIn(w.Name.String()), access.UserOf(r).RoleIn(w.Known))
	if !w.Private {
		out = max(out, access.See)
	}
	return out
}

// A house has the pages of one repository.
type house struct {
	id   int64
	root string
	mux  *http.ServeMux
}

// rootOf returns the path of the pages of a repository.
func rootOf(w serve.RepositoryView) string {
	owner, name, _ := strings.Cut(w.Known, "/")
	return "/r/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

// find returns the repository of a path, for users who may see it.
func (p *portal) find(r *http.Request) (serve.RepositoryView, bool) {
	known := r.PathValue("owner") + "/" + r.PathValue("name")
	for _, w := range p.cfg.Server.Repositories() {
		if strings.EqualFold(w.Known, known) || strings.EqualFold(w.Name.String(), known) && w.Client != nil {
			return w, role(r, w) >= access.See
		}
	}
	return serve.RepositoryView{}, false
}

// watchedKey is where a request has its repository.
type watchedKey struct{}

// watchedOf returns the repository of a request.
func watchedOf(ctx context.Context) serve.RepositoryView {
	w, _ := ctx.Value(watchedKey{}).(serve.RepositoryView)
	return w
}

// userKey is the key of a context for the name of the user.
type userKey struct{}

// repository answers below the path of a repository.
func (p *portal) repository(w http.ResponseWriter, r *http.Request) {
	repo, ok := p.find(r)
	if !ok {
		p.missing(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		need, word := access.Edit, "edit"
		if strings.HasSuffix(r.URL.Path, lookEnd) {
			need, word = access.Judge, "judge"
		}
		if role(r, repo) < need {
			p.refuse(w, r, word)
			return
		}
	}
	h := p.house(repo)
	// A name may be written in another case than the path of the pages.
	parts := strings.SplitN(r.URL.Path, "/", 5)
	ctx := context.WithValue(r.Context(), watchedKey{}, repo)
	if u := access.UserOf(r); u != nil {
		ctx = context.WithValue(ctx, userKey{}, u.Name)
	}
	next := r.Clone(ctx)
	next.URL.Path, next.URL.RawPath = "/"+parts[4], ""
	h.mux.ServeHTTP(w, next)
}

// refuse names the missing role.
func (p *portal) refuse(w http.ResponseWriter, r *http.Request, role string) {
	status := http.StatusForbidden
	if access.UserOf(r) == nil {
		status = http.StatusUnauthorized
	}
	if access.IsAPI(r.URL.Path) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"success": false, "error": "this needs the role ` + role + `; send Authorization: Bearer TOKEN"}` + "\n")) // the client is gone
		return
	}
	p.write(w, r, view{Template: "refused", Title: "Not allowed", Status: status, Body: role})
}

// house returns the pages of a repository.
func (p *portal) house(repo serve.RepositoryView) *house {
	root := rootOf(repo)
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.houses[root]; h != nil && h.id == repo.ID {
		return h
	}
	h := &house{id: repo.ID, root: root, mux: http.NewServeMux()}
	site := dashboard.New(dashboard.Config{
		Ledger: p.cfg.Ledger, Repository: repo.Known, Hide: p.cfg.Hide, Root: root, Home: "/", Title: repo.Known, Board: p.cfg.Board, Streams: p.cfg.Streams, Files: files, Edit: editor.CasePage,
		Links: func(r *http.Request) []dashboard.Link {
			return []dashboard.Link{{Path: "/pulls", Text: "Pull requests"}, {Path: editor.TestsPath, Text: "Tests"}, {Path: "/settings", Text: "Settings"}, signLink(r)}
		},
	})
	h.mux.Handle("/", site)
	h.mux.HandleFunc("GET /pulls", func(w http.ResponseWriter, r *http.Request) { p.pulls(w, r, site) })
	h.mux.HandleFunc("GET "+pullsPath, p.apiPulls)
	h.mux.HandleFunc("POST /pulls/{number}"+lookEnd, p.recheckPull)
	store := p.store(root, repo.Known, site)
	store.Routes(h.mux)
	store.Pages(h.mux, site.Frame)
	p.houses[root] = h
	return h
}

// files opens the files of a commit that was fetched.
func files(ctx context.Context, commit string) (fs.FS, error) {
	repo, err := watchedOf(ctx).Clone()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = repo.Close() }) // it was only read
	return repo.FS(commit)
}

// settingsAt returns the settings for definitions in the configuration of a repository.
func settingsAt(tree fs.FS, file string) (schema.Settings, error) {
	cfg, _, _, err := configfile.Read(tree, file, nil)
	if err != nil {
		return schema.Settings{}, err
	}
	return cfg.Settings(), nil
}
