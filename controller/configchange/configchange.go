// Package configchange converts configuration changes between base and head into report
// values.
package configchange

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
)

// Gate converts the gate of a gavel.yaml for reports.
func Gate(g config.Gate) report.GateSettings {
	return report.GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, Required: g.Required, Removed: g.Removed, FailScores: g.Scores == config.ScoresFail}
}

// Targets converts changes of targets for reports; nil without any.
func Targets(file string, c config.TargetChanges) *report.TargetChanges {
	out := report.TargetChanges{File: file}
	for _, change := range c.Judged {
		out.Judged = append(out.Judged, report.TargetChange{Target: change.Target, Says: change.String(), File: change.File})
	}
	all := slices.Concat(c.Refused, c.Accepted)
	for _, change := range all {
		// The judge takes roles without a target.
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

// judgedOf returns the changes of targets if head's configuration decides: all are
// judged.
func judgedOf(base, head *config.Config) config.TargetChanges {
	_, changes := base.UnderTest(base, head, true)
	return config.TargetChanges{Judged: slices.Concat(changes.Judged, changes.Refused)}
}

// Compare returns the changes of a gavel.yaml between base and head, if head's decides.
// It is empty without changes.
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
