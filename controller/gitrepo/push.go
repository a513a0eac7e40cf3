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
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Push creates a commit and a remote branch that points to it, and returns the commit.
// Its parent has to be in the clone, and the branch must not exist at the remote.
// Nothing is written into the clone. A local folder is not pushed to.
func (m *Mirror) Push(ctx context.Context, branch string, c Commit) (commit string, err error) {
	if m.from.scheme == fileScheme {
		return "", fmt.Errorf("%s is a folder of this machine, which is not pushed to", m.from.show)
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
	err = m.cfg.Token.authenticate(ctx, m.from, func(auth transport.AuthMethod) error { return p.send(ctx, auth) })
	if err != nil {
		return "", fmt.Errorf("push to %s: %w", m.from.show, err)
	}
	return made.String(), nil
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

// send uploads the objects and updates the ref at the remote.
func (p packPush) send(ctx context.Context, auth transport.AuthMethod) error {
	endpoint, err := transport.NewEndpoint(p.to.url)
	if err != nil {
		return errors.New("the address cannot be read")
	}
	protocol, err := client.NewClient(endpoint)
	if err != nil {
		return err
	}
	session, err := protocol.NewReceivePackSession(endpoint, auth)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }() // all replies were read
	there, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	if _, taken := there.References[p.change.Name.String()]; taken {
		return fmt.Errorf("the branch %s exists", p.change.Name.Short())
	}
	var hashes []plumbing.Hash
	for hash := range p.new.Objects {
		hashes = append(hashes, hash)
	}
	slices.SortFunc(hashes, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	var packed bytes.Buffer
	if _, err := packfile.NewEncoder(&packed, p.new, false).Encode(hashes, 0); err != nil {
		return err
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(there.Capabilities)
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
