package report

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
)

// NewGateSettings converts the gate of a gavel.yaml into its form in reports.
func NewGateSettings(g config.Gate) GateSettings {
	return GateSettings{FailOn: g.FailOn, MinScore: g.MinScore, MaxDrop: g.MaxDrop, MaxCostRise: g.MaxCostRise, MaxTimeRise: g.MaxTimeRise, MaxTokensRise: g.MaxTokensRise, MinPower: g.MinPower, Required: g.Required, Removed: g.Removed, FailScores: g.Scores == config.ScoresFail, PassUnsure: g.Unsure == config.UnsureNotice}
}

// NewTargetChanges converts changes of targets into their form in reports. It returns nil
// if there are none.
func NewTargetChanges(file string, c config.TargetChanges) *TargetChanges {
	out := TargetChanges{File: file}
	for _, change := range withoutFollowers(c.Judged) {
		out.Judged = append(out.Judged, TargetChange{Target: change.Target, Says: change.String(), File: change.File})
	}
	for _, change := range withoutFollowers(slices.Concat(c.Refused, c.Accepted)) {
		out.Refused = append(out.Refused, TargetChange{Target: change.Target, Says: change.String(), File: change.File, Approvable: change.Data, Digest: change.Digest()})
	}
	if len(out.Judged)+len(out.Refused) == 0 {
		return nil
	}
	return &out
}

// withoutFollowers leaves out the changes of roles that change as the judge does: the judge
// takes the roles without a target.
func withoutFollowers(changes []config.TargetChange) []config.TargetChange {
	const judge = "roles.judge"
	byJudge := func(change config.TargetChange) bool {
		return change.Target == "" && change.Setting != judge && slices.ContainsFunc(changes, func(j config.TargetChange) bool {
			return j.Setting == judge && j.Target == "" && j.Was == change.Was && j.Is == change.Is
		})
	}
	return slices.DeleteFunc(slices.Clone(changes), byJudge)
}

// judgedOf returns the changes of targets if head's configuration decides: all are judged.
func judgedOf(base, head *config.Config) config.TargetChanges {
	_, changes := base.UnderTest(base, head, true)
	return config.TargetChanges{Judged: slices.Concat(changes.Judged, changes.Refused)}
}

// CompareConfigs compares the gavel.yaml of base and head if head's decides. The result is
// empty if nothing changed.
func CompareConfigs(file string, base, head *config.Config) ConfigChange {
	if base.Digest == head.Digest {
		return ConfigChange{}
	}
	was, is := NewGateSettings(base.Gate), NewGateSettings(head.Gate)
	return ConfigChange{
		Targets: NewTargetChanges(file, judgedOf(base, head)),
		File:    file, Files: base.ChangedFiles(head, file), Base: &was, Head: &is, DecidedBy: "head", Looser: base.Looser(head), Dearer: base.Skills.Dearer(head.Skills),
	}
}
