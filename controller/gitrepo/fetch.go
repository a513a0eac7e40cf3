package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

// A Source describes a fetch.
type Source struct {
	// Refs are full names at the remote: refs/heads/main, refs/pull/7/head.
	Refs []string
	// Near returns commits that are enough without a history, or nil. It is asked where
	// the store has no complete history; nil fetches that.
	Near func(context.Context) (*Near, error)
	// Token returns the credential for an http or https remote; nil for none. It is a
	// function so that printing a Source does not show it. It is not sent over an
	// unencrypted connection, except to this machine.
	Token Credential
	// Store is the folder of the bare repository that Fetch keeps next to a shallow
	// clone, or next to a clone with an unreadable object. It is created if missing,
	// and worth keeping: the next fetch then downloads only new objects.
	Store string
	// Most bounds the new objects. Defaults to [OfBase].
	Most Bounds
	// Timeout bounds the whole fetch. Defaults to 5 minutes.
	Timeout time.Duration
}

// Near are commits that are fetched with their parents, without the history behind them.
type Near struct {
	// Refs are full names at the remote, of which the tips are fetched.
	Refs []string
	// Commits are 40 hex digits.
	Commits []string
	// Most bounds the new objects.
	Most Bounds
}

const (
	fetchTimeout = 5 * time.Minute
	// Fetched refs are separate from the user's own.
	fetchedRefs = "refs/gavel/"
)

// Fetch fetches refs of the remote origin, with all their history or, into an empty
// store, what src.Near says. It returns the
// commits in the order of src.Refs, and a repository that has them, which the caller
// closes. If this repository is complete, that is a second handle of it. A shallow
// clone is not changed; the history goes to src.Store instead, because go-git cannot
// deepen: it never takes a commit off the edge, and a second shallow fetch downloads
// everything again.
func (r *Repository) Fetch(ctx context.Context, src Source) (*Repository, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(src.Timeout, fetchTimeout))
	defer cancel()
	from, err := r.origin()
	if err != nil {
		return nil, nil, fmt.Errorf("fetching: %w", err)
	}
	specs, err := refSpecs(src.Refs)
	if err != nil {
		return nil, nil, fmt.Errorf("fetching from %s: %w", from.show, err)
	}
	aside, err := r.fetchesAside(src, from, r.damage.due())
	if err != nil {
		return nil, nil, fmt.Errorf("fetching from %s: %w", from.show, err)
	}
	if aside {
		return r.aside.fetch(ctx, src, specs)
	}
	whole := src
	whole.Near = nil // a complete clone stays one
	into, commits, err := fetchInto(ctx, r.Root(), from, whole, specs)
	switch {
	case err == nil:
		r.damage.watch(into)
		return into, commits, nil
	case src.Store == "" || ctx.Err() != nil || sound(r.Root()):
		return nil, nil, err
	}
	if _, err := r.fetchesAside(src, from, true); err != nil {
		return nil, nil, err
	}
	return r.aside.fetch(ctx, src, specs)
}

// fetchInto fetches into the repository at dir and opens it.
func fetchInto(ctx context.Context, dir string, from remote, src Source, specs []config.RefSpec) (*Repository, []string, error) {
	into, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := into.fetchAsNeeded(ctx, from, src, specs); err != nil {
		return nil, nil, errors.Join(err, into.Close())
	}
	// An open store does not see new packs.
	if err := into.Close(); err != nil {
		return nil, nil, err
	}
	if into, err = Open(dir); err != nil {
		return nil, nil, err
	}
	commits, err := into.fetched(specs)
	if err != nil {
		return nil, nil, errors.Join(err, into.Close())
	}
	return into, commits, nil
}

// fetchesAside reports whether another repository receives the fetch, because this one
// is shallow or has lost objects.
func (r *Repository) fetchesAside(src Source, from remote, lost bool) (bool, error) {
	shallow, err := r.Shallow()
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.aside != nil:
		return true, nil
	case shallow && src.Store == "":
		return false, fmt.Errorf("no folder is set for the history: %w", ErrShallow)
	case shallow || lost && src.Store != "":
		r.aside = &Mirror{cfg: MirrorConfig{Dir: src.Store, Token: src.Token, Timeout: src.Timeout}, from: from}
		return true, nil
	}
	return false, nil
}

// refSpecs returns the destination of each ref.
func refSpecs(refs []string) ([]config.RefSpec, error) {
	specs := make([]config.RefSpec, len(refs))
	for i, ref := range refs {
		if err := checkRef(ref); err != nil {
			return nil, err
		}
		name, ok := strings.CutPrefix(ref, "refs/")
		if !ok || strings.ContainsAny(ref, "~^") {
			return nil, fmt.Errorf("ref %q is not a full name such as refs/heads/main", ref)
		}
		specs[i] = config.RefSpec("+" + ref + ":" + fetchedRefs + name)
	}
	return specs, nil
}

// fetch fetches refs with their history into a clone that has all of it.
func (r *Repository) fetch(ctx context.Context, from remote, src Source, specs []config.RefSpec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	common, err := commonDir(r.gitIn)
	if err != nil {
		return err
	}
	into := receiver{r.store, ctx, filepath.Join(common, "objects", "pack"), src.Most}
	origin := git.NewRemote(into, &config.RemoteConfig{Name: git.DefaultRemoteName, URLs: []string{from.url}})
	err = src.Token.authenticate(ctx, from, func(auth transport.AuthMethod) error {
		err := origin.FetchContext(ctx, &git.FetchOptions{RefSpecs: specs, Tags: git.NoTags, Force: true, Auth: auth})
		if errors.Is(err, git.NoErrAlreadyUpToDate) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("fetching from %s: %w", from.show, err)
	}
	return nil
}

// explain adds a repair to an error of a fetch and removes credentials; nil stays nil.
func explain(ctx context.Context, err error, from remote, token string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &AwayError{"no answer within the time limit", ctx.Err()}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		if token == "" {
			return fmt.Errorf("%w, and none was given", ErrRefused)
		}
		return fmt.Errorf("%w, and refuses the credential that was given", ErrRefused)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return ErrNoRemote
	case strings.Contains(err.Error(), "object-format=sha256"):
		return errors.New("its objects have SHA-256 names: gavel reads repositories with SHA-1, the format that git makes by default")
	}
	if over, ok := errors.AsType[*pack.ExcessError](err); ok {
		return over
	}
	if missing, ok := errors.AsType[*MissingRefError](err); ok {
		return missing
	}
	if missing, ok := errors.AsType[git.NoMatchingRefSpecError](err); ok {
		return &MissingRefError{strings.Trim(strings.TrimPrefix(missing.Error(), "couldn't find remote ref "), `"`)}
	}
	text := from.redact(err.Error(), token)
	if isAway(err) {
		return &AwayError{text, nil}
	}
	return errors.New(text)
}

// A MissingRefError is a ref that the remote does not have.
type MissingRefError struct {
	// Ref is its full name, such as refs/heads/main.
	Ref string
}

// Error names the ref.
func (e *MissingRefError) Error() string { return fmt.Sprintf("%q is not there", e.Ref) }

// An AwayError is a remote that did not answer, or answered only in part: the same
// fetch may succeed later.
type AwayError struct {
	text string
	end  error // the context's, if it ended
}

// Error describes the remote's behaviour.
func (e *AwayError) Error() string { return e.text }

// Unwrap returns the context's error, if it ended.
func (e *AwayError) Unwrap() error { return e.end }

// Transient returns true.
func (e *AwayError) Transient() bool { return true }

func isAway(err error) bool {
	var unexpected *plumbing.UnexpectedError
	var network net.Error
	return errors.As(err, &unexpected) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// fetched resolves the fetched refs to commits.
func (r *Repository) fetched(specs []config.RefSpec) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	commits := make([]string, len(specs))
	for i, spec := range specs {
		name := spec.Dst(plumbing.ReferenceName(spec.Src()))
		hash, err := r.git.ResolveRevision(plumbing.Revision(name))
		if err != nil {
			return nil, fmt.Errorf("reading the fetched %s: %w", spec.Src(), err)
		}
		commits[i] = hash.String()
	}
	return commits, nil
}
