package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
)

const (
	// wholeHistory is the depth that git takes for no limit.
	wholeHistory = 0x7fffffff
	// nearDepth is the depth of a fetch of single commits: each comes with its parents, which
	// cost little next to it.
	nearDepth = 2
	// maxHaves bounds the commits that a request lists as known.
	maxHaves = 256
)

// errHistory reports a fetch without history that is not possible or not worth it: the
// remote sends no single commits, or the clone has other ones. All files are sent once more
// next to these, since git leaves out known ones only in thin packs, which are not read
// here. That is worth it once, for the first pull request after the tips of branches.
var errHistory = errors.New("commits are fetched with their history")

// fetchAsNeeded fetches refs with their history. An empty clone takes single commits
// instead if the source knows which are enough, and is completed by the next fetch that
// needs others.
func (r *Repository) fetchAsNeeded(ctx context.Context, from remote, src Source, specs []config.RefSpec) error {
	edges, err := r.store.Shallow()
	if err != nil {
		return fmt.Errorf("reading the edge of the shallow clone: %w", err)
	}
	tips, err := r.haves()
	if err != nil {
		return err
	}
	if src.Near != nil && (len(edges) > 0 || len(tips) == 0) {
		near, err := src.Near(ctx)
		if err != nil {
			return fmt.Errorf("fetching from %s: %w", from.show, err)
		}
		if near != nil {
			err = r.fetchNear(ctx, from, src.Token, *near)
			if _, away := errors.AsType[*AwayError](err); err == nil || away || ctx.Err() != nil {
				return err
			}
		}
	}
	if len(edges) == 0 {
		return r.fetch(ctx, from, src, specs)
	}
	return r.fetchAt(ctx, from, src.Token, request{specs: specs, depth: wholeHistory, most: src.Most})
}

// fetchNear fetches single commits.
func (r *Repository) fetchNear(ctx context.Context, from remote, token Credential, near Near) error {
	specs, err := refSpecs(near.Refs)
	if err != nil {
		return fmt.Errorf("fetching from %s: %w", from.show, err)
	}
	return r.fetchAt(ctx, from, token, request{specs: specs, commits: near.Commits, depth: nearDepth, most: near.Most})
}

// A request asks for the tips of refs, and for commits by their 40 hex digits, up to a
// depth.
type request struct {
	specs   []config.RefSpec
	commits []string
	depth   int
	most    Bounds
}

// fetchAt fetches up to a depth. The request lists which commits and edges this
// repository has, so that a depth of wholeHistory completes a shallow clone. go-git's own
// fetch never takes an edge off. Errors are [errHistory] and the transport's.
func (r *Repository) fetchAt(ctx context.Context, from remote, token Credential, what request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := transport.NewEndpoint(from.url)
	if err != nil {
		return explain(ctx, err, from, "")
	}
	protocol, err := client.NewClient(at)
	if err != nil {
		return explain(ctx, err, from, "")
	}
	impossible := false
	err = token.authenticate(ctx, from, func(auth transport.AuthMethod) error {
		err := r.receiveAt(ctx, protocol, at, auth, what)
		impossible = errors.Is(err, errHistory)
		return err
	})
	switch {
	case impossible:
		return errHistory
	case err != nil:
		return fmt.Errorf("fetching from %s: %w", from.show, err)
	}
	return nil
}

// receiveAt is fetchAt in one session.
func (r *Repository) receiveAt(ctx context.Context, protocol transport.Transport, at *transport.Endpoint, auth transport.AuthMethod, what request) (err error) {
	session, err := protocol.NewUploadPackSession(at, auth)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	refs, commits, err := wanted(advertised, what)
	if err != nil {
		return err
	}
	req, err := r.requestAt(advertised.Capabilities, commits, what)
	if err != nil {
		return err
	}
	if len(req.Wants) > 0 {
		if err := r.receivePack(ctx, session, req, what.most); err != nil {
			return err
		}
	}
	for _, ref := range refs {
		if err := r.store.SetReference(ref); err != nil {
			return fmt.Errorf("keeping %s: %w", ref.Name(), err)
		}
	}
	return nil
}

// wanted returns the references that a fetch leaves behind, and the commits that it brings.
func wanted(advertised *packp.AdvRefs, what request) (refs []*plumbing.Reference, all []plumbing.Hash, err error) {
	there, err := advertised.AllReferences()
	if err != nil {
		return nil, nil, err
	}
	for _, spec := range what.specs {
		ref, err := storer.ResolveReference(there, plumbing.ReferenceName(spec.Src()))
		if err != nil {
			return nil, nil, &MissingRefError{spec.Src()}
		}
		refs = append(refs, plumbing.NewHashReference(spec.Dst(plumbing.ReferenceName(spec.Src())), ref.Hash()))
		all = append(all, ref.Hash())
	}
	served := advertised.Capabilities
	byHash := served.Supports(capability.AllowReachableSHA1InWant) || served.Supports(capability.AllowTipSHA1InWant)
	for _, commit := range what.commits {
		hash := plumbing.NewHash(commit)
		switch {
		case hash.String() != commit:
			return nil, nil, fmt.Errorf("commit %q is not 40 hex digits", commit)
		case !byHash && !slices.Contains(all, hash):
			return nil, nil, errHistory
		}
		all = append(all, hash)
	}
	return refs, all, nil
}

// requestAt asks for the commits that this repository lacks, or for everything behind its
// edges if the depth is wholeHistory.
func (r *Repository) requestAt(served *capability.List, commits []plumbing.Hash, what request) (*packp.UploadPackRequest, error) {
	if !served.Supports(capability.Shallow) {
		return nil, errHistory
	}
	req := packp.NewUploadPackRequestFromCapabilities(served)
	for _, name := range []capability.Capability{capability.Shallow, capability.NoProgress} {
		if !served.Supports(name) {
			continue
		}
		if err := req.Capabilities.Set(name); err != nil {
			return nil, err
		}
	}
	req.Depth = packp.DepthCommits(what.depth)
	var err error
	if req.Shallows, err = r.store.Shallow(); err != nil {
		return nil, fmt.Errorf("reading the edge of the shallow clone: %w", err)
	}
	for _, commit := range commits {
		known := r.store.HasEncodedObject(commit) == nil
		if !slices.Contains(req.Wants, commit) && (!known || what.depth == wholeHistory) {
			req.Wants = append(req.Wants, commit)
		}
	}
	if req.Haves, err = r.haves(); err != nil {
		return nil, err
	}
	if what.depth < wholeHistory && len(req.Wants) > 0 && len(req.Haves) > 0 {
		only, err := r.hasOnlyBranches()
		if err != nil || !only || what.isOfBranches() {
			return nil, cmp.Or(err, errHistory)
		}
	}
	return req, nil
}

// isOfBranches reports whether a request asks for the tips of branches alone.
func (q request) isOfBranches() bool {
	return !slices.ContainsFunc(q.specs, func(spec config.RefSpec) bool { return !strings.HasPrefix(spec.Src(), "refs/heads/") })
}

// hasOnlyBranches reports whether nothing but branches was fetched.
func (r *Repository) hasOnlyBranches() (bool, error) {
	refs, err := r.store.IterReferences()
	if err != nil {
		return false, fmt.Errorf("listing what was fetched: %w", err)
	}
	only := true
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		name, isFetched := strings.CutPrefix(ref.Name().String(), fetchedRefs)
		only = only && (!isFetched || strings.HasPrefix(name, "heads/"))
		return nil
	})
	return only, err
}

// haves returns the fetched commits that are there.
func (r *Repository) haves() ([]plumbing.Hash, error) {
	refs, err := r.store.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("listing what was fetched: %w", err)
	}
	var out []plumbing.Hash
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		if !strings.HasPrefix(ref.Name().String(), fetchedRefs) || ref.Type() != plumbing.HashReference || slices.Contains(out, ref.Hash()) {
			return nil
		}
		if _, err := object.GetCommit(r.store, ref.Hash()); err == nil {
			out = append(out, ref.Hash())
		}
		return nil
	})
	return out[max(0, len(out)-maxHaves):], err
}

// receivePack stores the objects of an answer within bounds, and then the new edges.
func (r *Repository) receivePack(ctx context.Context, session transport.UploadPackSession, req *packp.UploadPackRequest, most Bounds) (err error) {
	answer, err := session.UploadPack(ctx, req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	common, err := commonDir(r.gitIn)
	if err != nil {
		return err
	}
	var in io.Reader = answer
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		in = sideband.NewDemuxer(sideband.Sideband64k, in)
	case req.Capabilities.Supports(capability.Sideband):
		in = sideband.NewDemuxer(sideband.Sideband, in)
	}
	into := receiver{r.store, ctx, filepath.Join(common, "objects", "pack"), most}
	if err := packfile.UpdateObjectStorage(into, in); err != nil && !errors.Is(err, packfile.ErrEmptyPackfile) {
		return err
	}
	edges := slices.DeleteFunc(slices.Clone(req.Shallows), func(h plumbing.Hash) bool { return slices.Contains(answer.Unshallows, h) })
	for _, h := range answer.Shallows {
		if !slices.Contains(edges, h) {
			edges = append(edges, h)
		}
	}
	return r.store.SetShallow(edges)
}
