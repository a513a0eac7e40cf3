package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// skillTrigger scores 1 if the target used a skill, or avoided one that it must not
// use. Unknown calls are an error.
func skillTrigger(spec evaluator.SkillTrigger, in suiteInput) (suiteFinding, error) {
	if !in.Transcript.Traced {
		return suiteFinding{}, errUntraced
	}
	done, isDone := "used", isForSkill
	if spec.Loaded {
		done, isDone = "loaded", isLoad
	}
	for _, call := range Made(in.output()) {
		if isDone(call, spec.Skill) {
			return one(share(!spec.Never), fmt.Sprintf("the skill %s is %s by %s", spec.Skill, done, call.Name), nil, nil), nil
		}
	}
	return one(share(spec.Never), fmt.Sprintf("the skill %s is not %s", spec.Skill, done), nil, nil), nil
}

// Loads reports whether calls in messages load the skill that a choice asks about, and
// whether they load another one of it.
func Loads(messages []schema.Message, choice *schema.SkillChoice) (asked, another bool) {
	for _, call := range Made(messages) {
		asked = asked || isLoad(call, choice.Skill)
		another = another || slices.ContainsFunc(choice.Skills, func(s schema.SkillHead) bool { return s.Name != choice.Skill && isLoad(call, s.Name) })
	}
	return asked, another
}

// writers are the tools of agents that write files: a path in their arguments is not read.
var writers = []string{"write", "edit", "multiedit", "notebookedit", "apply_patch", "patch", "create", "str_replace", "file_change", "delete", "todowrite"}

// isLoad reports whether a call loads a skill: a tool for skills that names it, which may
// be the skill of a plugin as plugin:skill, or a call that reads its SKILL.md. Reading the
// files of all skills by a pattern, or listing a folder, loads none.
func isLoad(call Call, skill string) bool {
	tool := strings.ToLower(call.Name)
	if slices.Contains(skillTools, tool) {
		return slices.ContainsFunc(skills([]Call{call}), func(name string) bool { return isNamed(name, skill) })
	}
	args, _ := call.Args.(map[string]any)
	if slices.Contains(writers, tool) {
		return false
	}
	for name, value := range args {
		isPath := slices.Contains(pathArguments, strings.ToLower(strings.ReplaceAll(name, "_", "")))
		if isPath && slices.ContainsFunc(textsIn(value), func(text string) bool { return namesFile(text, skill+"/SKILL.md") }) {
			return true
		}
	}
	return false
}

// pathArguments are the arguments of tools that name what is read, without underscores.
var pathArguments = []string{"path", "paths", "file", "files", "filepath", "filepaths", "filename", "absolutepath", "targetfile", "uri", "command", "commands", "cmd"}

// isNamed reports whether a text is the name of a skill.
func isNamed(text, skill string) bool {
	_, bare, isQualified := strings.Cut(text, ":")
	return text == skill || isQualified && bare == skill
}

// namesFile reports whether a path or a command has the end of a path in it.
func namesFile(text, end string) bool {
	isName := func(r byte) bool {
		return r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	for {
		at := strings.Index(text, end)
		if at < 0 {
			return false
		}
		before, after := text[:at], text[at+len(end):]
		if (before == "" || !isName(before[len(before)-1])) && (after == "" || !isName(after[0])) {
			return true
		}
		text = after
	}
}

// isForSkill reports whether a call uses a skill. Agents have a skill tool, which may
// name a plugin's skill as plugin:skill, or read the skill's files.
func isForSkill(call Call, skill string) bool {
	for _, text := range textsIn(call.Args) {
		if strings.EqualFold(call.Name, "skill") && isNamed(text, skill) || strings.Contains("/"+text+"/", "/skills/"+skill+"/") {
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
