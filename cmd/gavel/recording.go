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

// Start records the replies of each target of a run to its own file in a folder, which
// it creates. Before the first call it refuses replies that cannot be recorded. close
// writes the files; its error also names the cases that they lack.
func Start(host *controller.Host, p *controller.Prepared, folder string) (close func() error, err error) {
	targets := slices.Collect(maps.Keys(p.Head().Config.Targets))
	recorders, err := target.OpenRecorders(folder, targets, p.Scrub())
	if err != nil {
		return nil, err
	}
	var unrecorded []string
	host.Record, host.Unrecorded = recorders.Record, func(key string) { unrecorded = append(unrecorded, key) }
	return func() error {
		err := recorders.Close()
		if n := len(unrecorded); n > 0 {
			err = errors.Join(err, fmt.Errorf("the recordings lack %s whose stored calls are gone, such as %s; judge %s without what is stored, as with --ledger new.db",
				textfmt.Count(n, "case"), unrecorded[0], textfmt.Verb(n, "it", "them")))
		}
		return err
	}, nil
}
