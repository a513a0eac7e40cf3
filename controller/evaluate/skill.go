package evaluate

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// skillTrigger scores 1 if the target used a skill, or avoided one that it must not
// use. Unknown calls are an error.
func skillTrigger(spec evaluator.SkillTrigger, in suiteInput) (suiteFinding, error) {
	if !in.Transcript.Traced {
		return suiteFinding{}, errUntraced
	}
	for _, call := range Made(in.output()) {
		if isForSkill(call, spec.Skill) {
			return one(share(!spec.Never), fmt.Sprintf("the skill %s is used by %s", spec.Skill, call.Name), nil, nil), nil
		}
	}
	return one(share(spec.Never), fmt.Sprintf("the skill %s is not used", spec.Skill), nil, nil), nil
}

// isForSkill reports whether a call uses a skill. Agents have a skill tool, which may
// name a plugin's skill as plugin:skill, or read the skill's files.
func isForSkill(call Call, skill string) bool {
	for _, text := range textsIn(call.Args) {
		_, bare, isQualified := strings.Cut(text, ":")
		named := text == skill || isQualified && bare == skill
		if strings.EqualFold(call.Name, "skill") && named || strings.Contains("/"+text+"/", "/skills/"+skill+"/") {
			return true
		}
	}
	return false
}

// textsIn returns the strings in a JSON value.
func textsIn(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, textsIn(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, item := range v {
			all = append(all, textsIn(item)...)
		}
		return all
	}
	return nil
}
