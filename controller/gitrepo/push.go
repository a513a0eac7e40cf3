package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Push creates a commit and a remote branch that points to it, and returns the commit.
// Its parent has to be in the clone. A branch that exists at the remote has to have the
// same files, as after a push whose reply was lost; its own commit is returned. Nothing
// is written into the clone, unless the branch is read. A local folder is not pushed to.
// The error wraps [ErrRefused] if the credential may not push.
func (m *Mirror) Push(ctx context.Context, branch string, c Commit) (commit string, err error) {
	if m.from.scheme == fileScheme {
		return "", m.unpushable()
	}
	ref := "refs/heads/" + branch
	if err := errors.Join(checkRef(branch), checkRef(ref)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.cfg.Timeout, fetchTimeout))
	defer cancel()
	repo, err := Open(m.cfg.Dir)
	if err != nil {
		return "", err
	}
	defer repo.Close()
	objects, made, err := repo.draft(c)
	if err != nil {
		return "", err
	}
	p := packPush{m.from, objects, packp.Command{Name: plumbing.ReferenceName(ref), New: made}}
	taken := false
	err = m.cfg.Token.authenticate(ctx, m.from, func(auth transport.AuthMethod) (err error) {
		taken, err = p.send(ctx, auth)
		return err
	})
	switch {
	case err != nil:
		return "", m.unpushed(err)
	case taken:
		return m.pushed(ctx, branch, objects, made)
	}
	return made.String(), nil
}

// unpushed adds the operation to the error of a push, and a refusal's repair.
func (m *Mirror) unpushed(err error) error {
	if errors.Is(err, ErrRefused) {
		return fmt.Errorf("push to %s: %w; give the credential contents: write, or write:repository of Gitea and Forgejo", m.from.show, err)
	}
	return fmt.Errorf("push to %s: %w", m.from.show, err)
}

// MayPush begins a push and ends it before anything is sent, which is where a remote
// refuses a credential that may only read. Its errors are the same as of [Mirror.Push].
func MayPush(ctx context.Context, cfg MirrorConfig) error {
	m, err := NewMirror(cfg)
	if err != nil {
		return err
	}
	if m.from.scheme == fileScheme {
		return m.unpushable()
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.Timeout, fetchTimeout))
	defer cancel()
	err = cfg.Token.authenticate(ctx, m.from, func(auth transport.AuthMethod) error {
		session, _, err := begin(ctx, m.from, auth)
		if err == nil {
			_ = session.Close() // nothing was sent
		}
		return err
	})
	if err != nil {
		return m.unpushed(err)
	}
	return nil
}

// unpushable is the error of a local folder.
func (m *Mirror) unpushable() error {
	return fmt.Errorf("%s is a folder of this machine, which is not pushed to", m.from.show)
}

// pushed returns the commit of a branch at the remote, which has to have the files of a
// new commit.
func (m *Mirror) pushed(ctx context.Context, branch string, objects *memory.Storage, made plumbing.Hash) (string, error) {
	ours, err := object.GetCommit(objects, made)
	if err != nil {
		return "", err
	}
	there, commits, err := m.Fetch(ctx, OfBase, "refs/heads/"+branch)
	if err != nil {
		return "", fmt.Errorf("read the branch %s, which exists: %w", branch, err)
	}
	tree, err := there.rootTree(commits[0])
	if err = errors.Join(err, there.Close()); err != nil {
		return "", err
	}
	if tree != ours.TreeHash {
		return "", fmt.Errorf("push to %s: the branch %s exists and has other files: delete it there", m.from.show, branch)
	}
	return commits[0], nil
}

func (r *Repository) draft(c Commit) (*memory.Storage, plumbing.Hash, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return makeCommit(r.store, c)
}

// A packPush is a set of new objects with the ref that will point to them.
type packPush struct {
	to     remote
	new    *memory.Storage
	change packp.Command
}

// send uploads the objects and updates the ref at the remote. A ref that is there already
// is taken: it stays as it is.
func (p packPush) send(ctx context.Context, auth transport.AuthMethod) (taken bool, err error) {
	session, there, err := begin(ctx, p.to, auth)
	if err != nil {
		return false, err
	}
	defer func() { _ = session.Close() }() // all replies were read
	if _, taken := there.References[p.change.Name.String()]; taken {
		return true, nil
	}
	return false, p.upload(ctx, session, there.Capabilities)
}

// begin opens a session for a push, which the caller closes, and returns the refs at the
// remote.
func begin(ctx context.Context, to remote, auth transport.AuthMethod) (transport.ReceivePackSession, *packp.AdvRefs, error) {
	endpoint, err := transport.NewEndpoint(to.url)
	if err != nil {
		return nil, nil, errors.New("the address cannot be read")
	}
	protocol, err := client.NewClient(endpoint)
	if err != nil {
		return nil, nil, err
	}
	session, err := protocol.NewReceivePackSession(endpoint, auth)
	if err != nil {
		return nil, nil, err
	}
	there, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, session.Close())
	}
	return session, there, nil
}

// upload sends the objects and the change of the ref.
func (p packPush) upload(ctx context.Context, session transport.ReceivePackSession, remote *capability.List) error {
	var hashes []plumbing.Hash
	for hash := range p.new.Objects {
		hashes = append(hashes, hash)
	}
	slices.SortFunc(hashes, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	var packed bytes.Buffer
	if _, err := packfile.NewEncoder(&packed, p.new, false).Encode(hashes, 0); err != nil {
		return err
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(remote)
	request.Commands = []*packp.Command{&p.change}
	request.Packfile = io.NopCloser(&packed)
	answer, err := session.ReceivePack(ctx, request)
	if err != nil {
		return err
	}
	if answer == nil {
		return nil // the remote does not report
	}
	return answer.Error()
}
