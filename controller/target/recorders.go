package target

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/safefile"
)

// Recorders write the replies of each target to a recording of its own.
type Recorders struct {
	dir   string
	scrub func(string) string
	masks *redact.Masks

	mu   sync.Mutex
	open map[string]*Recorder // by target; guarded by mu
	errs []error              // guarded by mu
}

// OpenRecorders returns a recorder for each target, in files of the folder, which
// it makes; scrub takes secrets out. It refuses a folder that cannot be written
// and a recording of the targets that cannot be read, before any call is paid for.
func OpenRecorders(dir string, targets []string, scrub func(string) string) (*Recorders, error) {
	r := &Recorders{dir: dir, scrub: scrub, masks: &redact.Masks{}, open: map[string]*Recorder{}}
	err := safefile.Probe(filepath.Join(dir, "recording.jsonl"))
	for _, name := range targets {
		err = errors.Join(err, safefile.Check(filepath.Join(dir, name+".jsonl")))
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of the recordings cannot be written: %w", err)
	}
	for _, name := range targets {
		rec, err := NewRecorder(filepath.Join(dir, name+".jsonl"), scrub)
		if err != nil {
			return nil, err
		}
		rec.masks = r.masks
		r.open[name] = rec
	}
	return r, nil
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
		} else {
			rec.masks = r.masks
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
