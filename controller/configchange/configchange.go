// Package configchange says in the words of reports what a gavel.yaml decides, and what
// became of it between two sides.
package configchange

import (
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
)

// Gate is the gate of a gavel.yaml as reports have it.
func Gate(g config.Gate) report.GateSettings {
	return report.GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, Required: g.Required, Removed: g.Removed}
}

// Compare returns what became of a gavel.yaml between base and head, where head's decides. It
// is empty where nothing did.
func Compare(file string, base, head *config.Config) report.ConfigChange {
	if base.Digest == head.Digest {
		return report.ConfigChange{}
	}
	was, is := Gate(base.Gate), Gate(head.Gate)
	return report.ConfigChange{
		File: file, Files: base.ChangedFiles(head, file), Base: &was, Head: &is, DecidedBy: "head", Looser: base.Looser(head),
	}
}
