// Package configchange says in the words of reports what a gavel.yaml decides, and what
// became of it between two sides.
package configchange

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
)

// Gate is the gate of a gavel.yaml as reports have it.
func Gate(g config.Gate) report.GateSettings {
	return report.GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, Required: g.Required, Removed: g.Removed, FailScores: g.Scores == config.ScoresFail}
}

// Targets are the changes of targets as reports have them; nil where there are none.
func Targets(file string, c config.TargetChanges) *report.TargetChanges {
	out := report.TargetChanges{File: file}
	for _, change := range c.Judged {
		out.Judged = append(out.Judged, report.TargetChange{Target: change.Target, Says: change.String(), File: change.File})
	}
	all := slices.Concat(c.Refused, c.Accepted)
	for _, change := range all {
		// The judge takes the roles that nobody else has.
		byJudge := slices.ContainsFunc(all, func(j config.TargetChange) bool {
			return j.Setting == "roles.judge" && j.Target == "" && j.Was == change.Was && j.Is == change.Is
		})
		if byJudge && change.Target == "" && change.Setting != "roles.judge" {
			continue
		}
		out.Refused = append(out.Refused, report.TargetChange{Target: change.Target, Says: change.String(), File: change.File, Approvable: change.Data})
	}
	if len(out.Judged)+len(out.Refused) == 0 {
		return nil
	}
	return &out
}

// judgedOf are the changes of targets where head's configuration decides: all are judged.
func judgedOf(base, head *config.Config) config.TargetChanges {
	_, changes := base.UnderTest(base, head, true)
	return config.TargetChanges{Judged: slices.Concat(changes.Judged, changes.Refused)}
}

// Compare returns what became of a gavel.yaml between base and head, where head's decides. It
// is empty where nothing did.
func Compare(file string, base, head *config.Config) report.ConfigChange {
	if base.Digest == head.Digest {
		return report.ConfigChange{}
	}
	was, is := Gate(base.Gate), Gate(head.Gate)
	return report.ConfigChange{
		Targets: Targets(file, judgedOf(base, head)),
		File:    file, Files: base.ChangedFiles(head, file), Base: &was, Head: &is, DecidedBy: "head", Looser: base.Looser(head),
	}
}
