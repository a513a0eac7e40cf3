// Package forgetest is a forge for tests: a real server on loopback that speaks the few
// paths of GitHub's REST API which this program uses, with paging, permissions and
// limits, and misbehaves on request.
//
// Create one with [New], fill it with [Forge.AddPull] and [Forge.AddComment], let the
// code under test speak to [Forge.URL] with one of the tokens, and look at
// [Forge.Comments], [Forge.Statuses] and [Forge.Requests]. When the test ends, every
// request that does not conform to GitHub's published description fails it, and every
// request and answer of Gitea that its Go SDK does not know.
package forgetest

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repository is the only repository; forges ignore case.
const Repository = "octo/demo"

// Tokens known to the forge. Any other is answered with 401.
const (
	// TokenUser is the personal token of the user "maintainer", an admin.
	TokenUser = "test-token-of-maintainer"
	// TokenActions is the token of a job, which writes as github-actions[bot] and may
	// not read its own account.
	TokenActions = "ghs_test-token-of-a-job"
	// TokenFork is the token of a fork's job: like TokenActions, but read-only.
	TokenFork = "ghs_test-token-of-a-fork-job"
)

// An account is the owner of a token.
type account struct {
	login string
	// app accounts are refused at GET /user.
	app      bool
	readOnly bool
	// id and permissions are an App's; nil permissions allow everything.
	id          int64
	permissions map[string]string
}

var accounts = map[string]account{
	TokenUser:    {login: "maintainer"},
	TokenActions: {login: "github-actions[bot]", app: true},
	TokenFork:    {login: "github-actions[bot]", app: true, readOnly: true},
}

// A Pull is a pull request of the fake.
type Pull struct {
	Number  int
	HeadSHA string
	HeadRef string
	// HeadRepo defaults to Repository; "-" is a deleted one, which is null.
	HeadRepo string
	BaseSHA  string
	// BaseRef defaults to main.
	BaseRef string
	// Author defaults to maintainer; "-" is a deleted account, which is null.
	Author string
	Draft  bool
	Closed bool
	// Title and Body are the author's texts.
	Title, Body string

	changed int // counts changes of the forge
}

// A Comment is a comment on a pull request.
type Comment struct {
	ID     int64
	Number int
	Login  string
	Body   string
	// Edits counts its edits.
	Edits int
	// Reactions are login: content, in order.
	Reactions string
}

// times are a comment's times of creation and change.
type times struct{ created, updated time.Time }

// A Status is a written status; a context may occur many times.
type Status struct {
	SHA         string
	Context     string
	State       string
	Description string
	TargetURL   string
	Created     time.Time
	id          int
}

// A Request is a received request.
type Request struct {
	Method string
	// Path is the requested path, including a prefix /api/v3 or /api/v1.
	Path  string
	Query url.Values
	Body  []byte
	// Header is complete, Authorization included.
	Header http.Header
}

// IsWrite reports whether the request may change anything.
func (r Request) IsWrite() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// String returns the method and the path.
func (r Request) String() string { return r.Method + " " + r.Path }

// A Forge is the fake. It is safe for concurrent use.
type Forge struct {
	// URL is the base of the API. With /api/v3 behind it the forge is GitHub
	// Enterprise; with /api/v1 it is Gitea, whose requests and answers are held against
	// its Go SDK.
	URL string
	// Now is the clock of comments and statuses. Defaults to [time.Now]; set it before
	// the first of them.
	Now func() time.Time
	// CloneURL is the repository's address for git, as the forge reports it. Set it
	// before the first request.
	CloneURL string
	// Tip returns the commit of a branch, empty for a missing one: a pull request needs
	// an existing branch. Defaults to none. Set it before the first request.
	Tip func(branch string) string
	// Private makes the repository private. Scopes are the scopes of users' tokens, nil
	// for tokens without scopes. Set both before the first request.
	Private bool
	Scopes  []string
	// Rules are GitHub's rules for every branch, as it sends them, and Protections are
	// Gitea's protected branches. Set both before the first request.
	Rules       []map[string]any
	Protections []map[string]any
	// Clock is the forge's time in its answers. Defaults to the real time. Set it
	// before the first request.
	Clock func() time.Time

	// mu guards the fields below.
	mu          sync.Mutex
	pulls       map[int]Pull
	issues      map[int]Issue // issues that are not pull requests
	name        string        // the repository's current name, empty if deleted
	archived    bool
	issuesOff   bool
	comments    []Comment
	times       map[int64]times // of comments, by id
	statuses    []Status
	users       []string
	permissions map[string]string
	requests    []Request
	faults      []*fault
	lastID      int64
	changes     int // of pull requests
	checks      []CheckRun
	suites      []suite
	apps        map[int64]App
	keys        map[int64]*rsa.PublicKey
	keysTaken   int
	tokens      map[string]minted
	given       []string          // tokens issued to Apps, in order
	talk        int               // changes of comments
	pushes      []push            // the newest last
	mergeBases  map[string]string // by base...head
	unchanged   int               // answers with a 304
	unlike      []error           // answers that Gitea's SDK cannot decode
}

// New starts a forge that ends with the test.
func New(tb testing.TB) *Forge {
	tb.Helper()
	f := unserved(tb)
	server := httptest.NewServer(f.handler())
	f.URL = server.URL
	tb.Cleanup(server.Close)
	return f
}

// NewLocal returns a forge that is reached only by [Forge.Transport]: without a
// network, so that a test may run in virtual time.
func NewLocal(tb testing.TB) *Forge {
	tb.Helper()
	f := unserved(tb)
	f.URL = "https://forge.example"
	return f
}

// unserved returns a forge that checks conformance when the test ends.
func unserved(tb testing.TB) *Forge {
	tb.Helper()
	f := &Forge{
		pulls:       map[int]Pull{},
		issues:      map[int]Issue{},
		name:        Repository,
		times:       map[int64]times{},
		permissions: map[string]string{"maintainer": "admin"},
		lastID:      1000,
		apps:        map[int64]App{},
		keys:        map[int64]*rsa.PublicKey{},
		tokens:      map[string]minted{},
		mergeBases:  map[string]string{},
		Now:         time.Now,
	}
	tb.Cleanup(func() {
		for _, r := range f.Requests() {
			if err := Conforms(r); err != nil {
				tb.Errorf("%s does not conform to the forge's description: %v", r, err)
			}
		}
		for _, err := range f.unlike {
			tb.Errorf("the fake is unlike Gitea: %v", err)
		}
	})
	return f
}

// AddPull adds a pull request, or replaces the one with its number.
func (f *Forge) AddPull(p Pull) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addPull(p)
}

func (f *Forge) addPull(p Pull) {
	if p.HeadRepo == "" {
		p.HeadRepo = Repository
	}
	if p.BaseRef == "" {
		p.BaseRef = "main"
	}
	if p.Author == "" {
		p.Author = "maintainer"
	}
	f.changes++
	p.changed = f.changes
	f.pulls[p.Number] = p
	f.pushed(p)
}

// Rename renames the repository and redirects its first name. An empty name deletes it.
func (f *Forge) Rename(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name = name
}

// Archive makes the repository read-only until Unarchive.
func (f *Forge) Archive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archived = true
}

// Unarchive ends Archive.
func (f *Forge) Unarchive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archived = false
}

// SetPermission sets a user's permission: admin, write, read or none, which is the
// default. Everybody may read a public repository.
func (f *Forge) SetPermission(login, permission string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.permissions[login] = permission
}

// AddComment writes a comment as login and returns its id.
func (f *Forge) AddComment(number int, login, body string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addComment(number, login, body).ID
}

func (f *Forge) addComment(number int, login, body string) Comment {
	f.lastID++
	now := f.Now().UTC().Truncate(time.Second)
	c := Comment{ID: f.lastID, Number: number, Login: login, Body: body}
	f.comments = append(f.comments, c)
	f.times[c.ID] = times{now, now}
	f.talk++
	return c
}

// EditComment changes a comment's text, a minute after it was written.
func (f *Forge) EditComment(id int64, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.comments {
		if f.comments[i].ID == id {
			f.edit(i, body)
		}
	}
}

func (f *Forge) edit(i int, body string) {
	c := &f.comments[i]
	c.Body = body
	c.Edits++
	created := f.times[c.ID].created
	f.times[c.ID] = times{created, created.Add(time.Minute)}
	f.talk++
}

// DeleteComment removes a comment, as a person in a browser would.
func (f *Forge) DeleteComment(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.comments = slices.DeleteFunc(f.comments, func(c Comment) bool { return c.ID == id })
}

// React adds a reaction of login to a comment.
func (f *Forge) React(id int64, login, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addReaction(slices.IndexFunc(f.comments, func(c Comment) bool { return c.ID == id }), login, content)
}

// addReaction reports whether the reaction is new.
func (f *Forge) addReaction(i int, login, content string) bool {
	c, one := &f.comments[i], login+": "+content
	if slices.Contains(strings.Split(c.Reactions, ", "), one) {
		return false
	}
	c.Reactions = strings.TrimPrefix(c.Reactions+", "+one, ", ")
	return true
}

// Comments returns the comments of a pull request, oldest first.
func (f *Forge) Comments(number int) []Comment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commentsOf(number)
}

// Written returns an account's comments on a pull request that begin with a text.
func (f *Forge) Written(number int, login, begins string) (bodies []string) {
	for _, c := range f.Comments(number) {
		if c.Login == login && strings.HasPrefix(c.Body, begins) {
			bodies = append(bodies, c.Body)
		}
	}
	return bodies
}

// Reactions returns an account's reactions to a comment on a pull request; the
// reactions of others carry their names.
func (f *Forge) Reactions(number int, comment int64, login string) string {
	for _, c := range f.Comments(number) {
		if c.ID == comment {
			return strings.ReplaceAll(c.Reactions, login+": ", "")
		}
	}
	return "there is no such comment"
}

func (f *Forge) commentsOf(number int) []Comment {
	var found []Comment
	for _, c := range f.comments {
		if c.Number == number {
			found = append(found, c)
		}
	}
	return found
}

// AddStatus writes a status to a commit.
func (f *Forge) AddStatus(s Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addStatus(s)
}

func (f *Forge) addStatus(s Status) Status {
	s.Created = f.Now().UTC().Truncate(time.Second)
	s.id = len(f.statuses) + 1
	f.statuses = append(f.statuses, s)
	return s
}

// Statuses returns all statuses of a commit, oldest first.
func (f *Forge) Statuses(sha string) []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []Status
	for _, s := range f.statuses {
		if s.SHA == sha {
			found = append(found, s)
		}
	}
	return found
}

// Requests returns all received requests in order.
func (f *Forge) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Unchanged counts the requests answered with a 304, which count toward no limit.
func (f *Forge) Unchanged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unchanged
}

// Writes returns the requests that may change anything.
func (f *Forge) Writes() []Request {
	return slices.DeleteFunc(f.Requests(), func(r Request) bool { return !r.IsWrite() })
}

// UserID returns an account's id, the same for the same login.
func (f *Forge) UserID(login string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.userID(login)
}

func (f *Forge) userID(login string) int64 {
	i := slices.Index(f.users, login)
	if i < 0 {
		i = len(f.users)
		f.users = append(f.users, login)
	}
	return int64(100 + i)
}

// resetFar is in the year 2100: no test outlives its limit's window.
const resetFar = "4102444800"

// maxRequest bounds a body that the fake reads.
const maxRequest = 1 << 20

// handler records, applies faults and authenticates before the API answers.
func (f *Forge) handler() http.Handler {
	api := f.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.mu.Lock()
		f.requests = append(f.requests, Request{
			Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Body: body, Header: r.Header.Clone(),
		})
		f.mu.Unlock()
		if f.Clock != nil {
			w.Header().Set("Date", f.Clock().UTC().Format(http.TimeFormat))
		}
		w.Header().Set("X-Ratelimit-Limit", "5000")
		w.Header().Set("X-Ratelimit-Remaining", "4999")
		w.Header().Set("X-Ratelimit-Reset", resetFar)
		authenticated := f.authenticate(f.tagged(api))
		if hit := f.hit(r); hit != nil {
			hit.serve(w, r, authenticated)
			return
		}
		authenticated.ServeHTTP(w, r)
	})
}

// tagged adds an ETag to every answer to a read, and answers 304 if the caller has it
// already. Gitea sends none.
func (f *Forge) tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		said := httptest.NewRecorder()
		next.ServeHTTP(said, r)
		maps.Copy(w.Header(), said.Header())
		if said.Code == http.StatusOK && w.Header().Get("ETag") == "" && !isGitea(r) {
			w.Header().Set("ETag", fmt.Sprintf(`W/"%x"`, sha256.Sum256(said.Body.Bytes())))
		}
		if tag := w.Header().Get("ETag"); tag != "" && r.Header.Get("If-None-Match") == tag {
			f.mu.Lock()
			f.unchanged++
			f.mu.Unlock()
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(said.Code)
		_, _ = w.Write(said.Body.Bytes())
	})
}

func (f *Forge) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		who, known := f.accountOf(bearer(r))
		f.mu.Unlock()
		isRead := r.Method == http.MethodGet
		switch {
		case isAppPath(r.URL.Path):
			next.ServeHTTP(w, r)
		case !known:
			refuse(w, http.StatusUnauthorized, "Bad credentials")
		case who.readOnly && !isRead, who.app && strings.HasSuffix(r.URL.Path, "/user"), !who.may(r):
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (f *Forge) caller(r *http.Request) string {
	who, _ := f.accountOf(bearer(r))
	return who.login
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest"})
}

func reply(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("forgetest: encode a reply: %v", err))
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// A disconnected client is not an error of the fake.
	_, _ = w.Write(data)
}
