package main

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/gavel-evals/gavel/controller/target"
)

// recorders write the replies of each target to a recording of its own.
type recorders struct {
	dir   string
	scrub func(string) string

	mu   sync.Mutex
	open map[string]*target.Recorder // by target; guarded by mu
	errs []error                     // guarded by mu
}

func newRecorders(dir string, scrub func(string) string) *recorders {
	return &recorders{dir: dir, scrub: scrub, open: map[string]*target.Recorder{}}
}

func (r *recorders) record(name, requestDigest string, req target.Request, reply target.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.open[name]
	if !ok {
		var err error
		rec, err = target.NewRecorder(filepath.Join(r.dir, name+".jsonl"), r.scrub)
		if err != nil {
			r.errs = append(r.errs, err)
		}
		r.open[name] = rec // nil after an error, which is reported once
	}
	if rec != nil {
		rec.Record(requestDigest, req, reply)
	}
}

// close writes the recordings.
func (r *recorders) close() error {
	errs := r.errs
	for _, rec := range r.open {
		if rec != nil {
			errs = append(errs, rec.Close())
		}
	}
	return errors.Join(errs...)
}
