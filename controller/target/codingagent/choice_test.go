package codingagent_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/schema"
)

// TestChoice: each agent has chosen once it has loaded the skill that is asked about, when a
// round of calls has loaded another one, and after three rounds without. Its words, the
// results of tools and lists of files count for nothing.
func TestChoice(t *testing.T) {
	const (
		claude   = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"NAME","input":ARGS}]},"parent_tool_use_id":null}`
		done     = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":".claude/skills/csv/SKILL.md"}]}}`
		codex    = `{"type":"item.completed","item":{"id":"i","type":"command_execution","command":ARGS,"aggregated_output":"csv/SKILL.md","exit_code":0}}`
		copilot  = `{"type":"assistant.message","data":{"content":"I use csv/SKILL.md","toolRequests":[{"toolCallId":"c","name":"NAME","arguments":ARGS}]}}`
		opencode = `{"type":"tool_use","part":{"callID":"c","tool":"NAME","state":{"status":"completed","input":ARGS,"output":"csv/SKILL.md"}}}`
	)
	event := func(form, name, args string) string {
		return strings.NewReplacer("NAME", name, "ARGS", args).Replace(form)
	}
	look := event(claude, "Bash", `{"command":"ls .claude/skills/csv; cat .claude/skills/*/SKILL.md"}`) + "\n" + done
	choice := &schema.SkillChoice{Skill: "csv", Skills: []schema.SkillHead{{Name: "csv"}, {Name: "mail"}}}
	for name, tt := range map[string]struct {
		agent string
		lines []string
		// at is the line by which it is known; 0 for none. loaded says that it is loaded.
		at     int
		loaded bool
	}{
		"by its tool":                {"claude-code", []string{look, event(claude, "Skill", `{"skill":"csv"}`), done}, 3, true},
		"as a plugin":                {"claude-code", []string{event(claude, "Skill", `{"skill":"tools:csv"}`)}, 1, true},
		"by reading":                 {"claude-code", []string{event(claude, "Read", `{"file_path":"/w/.claude/skills/csv/SKILL.md"}`)}, 1, true},
		"by the name in other words": {"claude-code", []string{event(claude, "Skill", `{"skill":"mail","args":"csv"}`), done}, 2, false},
		"by writing":                 {"claude-code", []string{event(claude, "Write", `{"file_path":".claude/skills/csv/SKILL.md","content":"csv/SKILL.md"}`), done}, 0, false},
		"in what is asked":           {"claude-code", []string{event(claude, "Task", `{"prompt":"read .claude/skills/csv/SKILL.md"}`), done}, 0, false},
		"another, and then it":       {"claude-code", []string{event(claude, "Skill", `{"skill":"mail"}`), event(claude, "Skill", `{"skill":"csv"}`)}, 2, true},
		"another":                    {"claude-code", []string{event(claude, "Skill", `{"skill":"mail"}`), done, event(claude, "Skill", `{"skill":"csv"}`)}, 2, false},
		"three rounds":               {"claude-code", []string{look, look, look, event(claude, "Skill", `{"skill":"csv"}`)}, 6, false},
		"two rounds":                 {"claude-code", []string{look, look, event(claude, "Skill", `{"skill":"csv"}`)}, 5, true},
		"in words":                   {"claude-code", []string{`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I use the skill csv, .claude/skills/csv/SKILL.md"}]}}`}, 0, false},
		"codex":                      {"codex", []string{event(codex, "", `"ls .agents/skills"`), event(codex, "", `"/bin/sh -lc 'cd .agents/skills && cat csv/SKILL.md'"`)}, 2, true},
		"codex, of a longer name":    {"codex", []string{event(codex, "", `"cat my-csv/SKILL.md"`)}, 0, false},
		"codex, of a longer file":    {"codex", []string{event(codex, "", `"cat csv/SKILL.md.old"`)}, 0, false},
		"copilot":                    {"copilot", []string{event(copilot, "view", `{"path":"a.txt"}`), event(copilot, "view", `{"path":".github/skills/csv/SKILL.md"}`)}, 2, true},
		"copilot, its tool":          {"copilot", []string{event(copilot, "skill", `{"skill":"csv"}`)}, 1, true},
		"opencode":                   {"opencode", []string{event(opencode, "skill", `{"name":"csv"}`)}, 1, true},
		"opencode, by reading":       {"opencode", []string{event(opencode, "read", `{"filePath":"/w/.agents/skills/csv/SKILL.md"}`)}, 1, true},
		"opencode, another":          {"opencode", []string{event(opencode, "skill", `{"name":"mail"}`)}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			agent := lookup(t, tt.agent)
			loads := func(said []schema.Message) (asked, another bool) { return evaluate.Loads(said, choice) }
			printed := strings.Join(tt.lines, "\n") + "\n"
			c, at := agent.Choice(loads), 0
			for i, line := range strings.Split(strings.TrimSpace(printed), "\n") {
				if c.Decides([]byte(line + "\n")) {
					at = i + 1
					break
				}
			}
			turn, _ := agent.Read([]byte(printed))
			if at == tt.at {
				turn, _ = agent.Read([]byte(strings.Join(strings.SplitAfter(printed, "\n")[:max(at, 1)], "")))
			}
			loaded, _ := loads(turn.Messages)
			if at != tt.at || loaded != tt.loaded || agent.Choice(loads).IsIn([]byte(printed)) != (tt.at > 0) {
				t.Errorf("it is known by line %d that it is loaded: %v", at, loaded)
			}
		})
	}
}

// TestWhatAChoiceTook: the tokens of ended work are the tokens of its messages, once each.
func TestWhatAChoiceTook(t *testing.T) {
	const usage = `"usage":{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":7}`
	line := func(id string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"x"}],` + usage + "}}\n"
	}
	turn, _ := lookup(t, "claude-code").Read([]byte(line("a") + line("a") + line("b")))
	if turn.InputTokens != 642 || turn.OutputTokens != 14 || turn.CostUSD != nil {
		t.Errorf("%+v", turn)
	}
	turn, _ = lookup(t, "claude-code").Read([]byte(line("a") + `{"type":"result","subtype":"success","result":"x","usage":{"input_tokens":2,"output_tokens":3}}`))
	if turn.InputTokens != 2 || turn.OutputTokens != 3 {
		t.Errorf("%+v", turn)
	}
}
