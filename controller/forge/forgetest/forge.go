// Package forgetest is a forge for tests: a real server on loopback that
// speaks the few paths of GitHub's REST API which this program uses, with
// paging, permissions and limits, and that misbehaves on request.
//
// Make one with [New], fill it with [Forge.AddPull] and [Forge.AddComment],
// let the code under test speak to [Forge.URL] with one of the tokens, and look
// at [Forge.Comments], [Forge.Statuses] and [Forge.Requests]. When the test
// ends, every request that does not conform to GitHub's published description
// fails it.
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

// Repository is the only one that exists here; forges ignore case.
const Repository = "octo/demo"

// Tokens that the forge knows. Any other is answered with 401.
const (
	// TokenUser is the personal token of the user "maintainer", an admin.
	TokenUser = "test-token-of-maintainer"
	// TokenActions is the token of a job, which writes as github-actions[bot]
	// and may not ask who it is.
	TokenActions = "ghs_test-token-of-a-job"
	// TokenFork is the token of a job for a fork: as TokenActions, but it only
	// reads.
	TokenFork = "ghs_test-token-of-a-fork-job"
)

// An account is who a token belongs to.
type account struct {
	login string
	// app accounts are refused at GET /user.
	app      bool
	readOnly bool
	// id and permissions are an App's; nil permissions are all.
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
	// Title and Body are what the author wrote.
	Title, Body string

	changed int // when, in changes of the forge
}

// A Comment is a comment on a pull request.
type Comment struct {
	ID     int64
	Number int
	Login  string
	Body   string
	// Edits counts how often it was changed.
	Edits int
	// Reactions are login: content, in the order in which they were given.
	Reactions string
}

// times are when a comment was written and changed.
type times struct{ created, updated time.Time }

// A Status is one that was written, the same context possibly many times.
type Status struct {
	SHA         string
	Context     string
	State       string
	Description string
	TargetURL   string
	Created     time.Time
	id          int
}

// A Request is one that arrived.
type Request struct {
	Method string
	// Path is what was asked for, with /api/v3 or /api/v1 where that was used.
	Path  string
	Query url.Values
	Body  []byte
	// Header is complete, Authorization included.
	Header http.Header
}

// IsWrite reports whether the request may change anything.
func (r Request) IsWrite() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// String is the method and the path.
func (r Request) String() string { return r.Method + " " + r.Path }

// A Forge is the fake. It is safe for concurrent use.
type Forge struct {
	// URL is the base of the API. With /api/v3 behind it the forge is GitHub
	// Enterprise; with /api/v1 it is Gitea, which ignores paging and says
	// `status` where GitHub says `state`.
	URL string
	// Now is when comments and statuses are written. Defaults to [time.Now]; it
	// is set before the first of them.
	Now func() time.Time
	// CloneURL is where the forge says that git finds the repository. It is set
	// before the first request.
	CloneURL string
	// Tip is the commit of a branch, empty where there is none: a pull request is opened
	// only of a branch that is there. Defaults to none. It is set before the first
	// request.
	Tip func(branch string) string
	// Private says that the repository is. Scopes are those of users' tokens, nil
	// for tokens that have none. Both are set before the first request.
	Private bool
	Scopes  []string
	// Clock is the forge's time, which its answers tell. Defaults to the real
	// one. It is set before the first request.
	Clock func() time.Time

	// mu guards the fields below.
	mu          sync.Mutex
	pulls       map[int]Pull
	issues      map[int]bool // that are not pull requests
	name        string       // of the repository now, empty where it is gone
	archived    bool
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
	given       []string // tokens, in the order in which Apps got them
	talk        int      // changes of comments
	pushes      []push   // the newest last
	unchanged   int      // answers that were what the caller had
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

// NewLocal returns a forge that is reached by [Forge.Transport] only: without a
// network, so that a test may run in virtual time.
func NewLocal(tb testing.TB) *Forge {
	tb.Helper()
	f := unserved(tb)
	f.URL = "https://forge.example"
	return f
}

// unserved conforms when the test ends.
func unserved(tb testing.TB) *Forge {
	tb.Helper()
	f := &Forge{
		pulls:       map[int]Pull{},
		issues:      map[int]bool{},
		name:        Repository,
		times:       map[int64]times{},
		permissions: map[string]string{"maintainer": "admin"},
		lastID:      1000,
		apps:        map[int64]App{},
		keys:        map[int64]*rsa.PublicKey{},
		tokens:      map[string]minted{},
		Now:         time.Now,
	}
	tb.Cleanup(func() {
		for _, r := range f.Requests() {
			if err := Conforms(r); err != nil {
				tb.Errorf("%s does not conform to GitHub's REST description: %v", r, err)
			}
		}
	})
	return f
}

// AddPull makes a pull request, or replaces the one with its number.
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

// AddIssue makes an issue that is not a pull request.
func (f *Forge) AddIssue(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.issues[number] = true
}

// Rename returns the repository another name, to which the first one leads. An
// empty one deletes it.
func (f *Forge) Rename(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name = name
}

// Archive lets the repository be read and nothing else, until Unarchive.
func (f *Forge) Archive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archived = true
}

// Unarchive ends what Archive began.
func (f *Forge) Unarchive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archived = false
}

// SetPermission says what a user may do: admin, write, read or none, which is
// the default. Everybody may read a public repository.
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

// EditComment changes what a comment says, a minute after it was written.
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

// DeleteComment removes a comment, as somebody with a browser would.
func (f *Forge) DeleteComment(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.comments = slices.DeleteFunc(f.comments, func(c Comment) bool { return c.ID == id })
}

// React puts a reaction of login below a comment.
func (f *Forge) React(id int64, login, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addReaction(slices.IndexFunc(f.comments, func(c Comment) bool { return c.ID == id }), login, content)
}

// addReaction reports whether it is new.
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

// Written returns the comments on a pull request by an account that begin with
// a text.
func (f *Forge) Written(number int, login, begins string) (bodies []string) {
	for _, c := range f.Comments(number) {
		if c.Login == login && strings.HasPrefix(c.Body, begins) {
			bodies = append(bodies, c.Body)
		}
	}
	return bodies
}

// Reactions returns those of an account below a comment of a pull request; the
// reactions of others have their names.
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

// Statuses returns all that were written to a commit, oldest first.
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

// Requests returns all that arrived, in that order.
func (f *Forge) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Unchanged is how many of them were answered with a 304, which counts for no
// limit.
func (f *Forge) Unchanged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unchanged
}

// Writes returns the requests that may change anything.
func (f *Forge) Writes() []Request {
	return slices.DeleteFunc(f.Requests(), func(r Request) bool { return !r.IsWrite() })
}

// UserID is the id of an account, the same for the same login.
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

// resetFar is in the year 2100: no test outlives the window of its limit.
const resetFar = "4102444800"

// maxRequest bounds what the fake reads of a body.
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

// tagged returns every answer to a read its ETag, and says so where it is what
// the caller has.
func (f *Forge) tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		said := httptest.NewRecorder()
		next.ServeHTTP(said, r)
		maps.Copy(w.Header(), said.Header())
		if said.Code == http.StatusOK && w.Header().Get("ETag") == "" {
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
	// A client that has gone away is none of the fake's business.
	_, _ = w.Write(data)
}
