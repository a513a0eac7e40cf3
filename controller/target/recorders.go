package target

import (
	"errors"
	"path/filepath"
	"sync"
)

// Recorders write the replies of each target to a recording of its own.
type Recorders struct {
	dir   string
	scrub func(string) string

	mu   sync.Mutex
	open map[string]*Recorder // by target; guarded by mu
	errs []error              // guarded by mu
}

// NewRecorders gives a recorder for each target, in files of the folder; scrub
// takes secrets out.
func NewRecorders(dir string, scrub func(string) string) *Recorders {
	return &Recorders{dir: dir, scrub: scrub, open: map[string]*Recorder{}}
}

// Record takes a reply of a target.
func (r *Recorders) Record(name, requestDigest string, req Request, reply Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.open[name]
	if !ok {
		var err error
		rec, err = NewRecorder(filepath.Join(r.dir, name+".jsonl"), r.scrub)
		if err != nil {
			r.errs = append(r.errs, err)
		}
		r.open[name] = rec // nil after an error, which is reported once
	}
	if rec != nil {
		rec.Record(requestDigest, req, reply)
	}
}

// Close writes the recordings.
func (r *Recorders) Close() error {
	errs := r.errs
	for _, rec := range r.open {
		if rec != nil {
			errs = append(errs, rec.Close())
		}
	}
	return errors.Join(errs...)
}
