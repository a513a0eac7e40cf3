package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A recording has the replies of every target of a run written to a file of its own. It
// implements [controller.Recorder].
type recording struct {
	*target.Recorders
	unrecorded []string
}

// startRecording makes the folder of a recording. It refuses recordings that cannot be
// written or read before the first call.
func startRecording(p *controller.Prepared, folder string) (*recording, error) {
	targets := slices.Collect(maps.Keys(p.Head().Config.Targets))
	recorders, err := target.OpenRecorders(folder, targets, p.Scrub())
	return &recording{Recorders: recorders}, err
}

// Unrecorded implements [controller.Recorder].
func (r *recording) Unrecorded(key string) { r.unrecorded = append(r.unrecorded, key) }

// close writes the files. Its error also names the cases that they lack.
func (r *recording) close() error {
	err := r.Close()
	if n := len(r.unrecorded); n > 0 {
		err = errors.Join(err, fmt.Errorf("the recordings lack %s whose stored calls are gone, such as %s; judge %s without what is stored, as with --ledger new.db",
			textfmt.Count(n, "case"), r.unrecorded[0], textfmt.Verb(n, "it", "them")))
	}
	return err
}
