package gitrepo

import (
	"context"
	"io"

	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

// Bounds limit a fetch.
type Bounds = pack.Bounds

var (
	// OfBase are the bounds of content from people with write access. They protect
	// memory and disk from mistakes.
	OfBase = Bounds{
		Bytes: 64 << 30, Inflated: 1 << 40, Object: 64 << 30, Listed: 64 << 20, Delta: 4 << 30, Objects: 40_000_000, Depth: 4095,
	}
	// OfHead are the bounds of a head's additions to its base, which nobody has
	// accepted.
	OfHead = Bounds{
		Bytes: 1 << 30, Inflated: 8 << 30, Object: 4 << 30, Listed: maxTree, Delta: 32 << 20, Objects: 1_000_000, Depth: 512,
	}
)

// A receiver is a store that accepts packs within bounds. go-git itself inflates every
// object into memory to index a pack.
type receiver struct {
	*filesystem.Storage
	ctx  context.Context // the fetch's, which go-git does not pass on
	dir  string          // of packs
	most Bounds
}

// PackfileWriter returns the writer that go-git writes a pack to.
func (r receiver) PackfileWriter() (io.WriteCloser, error) {
	most := r.most
	if most == (Bounds{}) {
		most = OfBase
	}
	w, err := pack.Create(r.ctx, r.dir, most)
	return &packReceiver{w, r.Storage}, err
}

// A packReceiver stores a pack while it arrives.
type packReceiver struct {
	*pack.Writer
	store *filesystem.Storage
}

// Close makes the store find the pack.
func (r *packReceiver) Close() error {
	err := r.Writer.Close()
	r.store.Reindex()
	return err
}
