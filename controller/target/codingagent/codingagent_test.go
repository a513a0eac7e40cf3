package codingagent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema"
)

func lookup(t *testing.T, name string) codingagent.Agent {
	t.Helper()
	a, ok := codingagent.Lookup(name)
	if !ok {
		t.Fatalf("there is no agent %s", name)
	}
	return a
}

func said(text string) schema.Message {
	return schema.Message{Role: schema.RoleAssistant, Content: text}
}

func called(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func returned(id, name, text string) schema.Message {
	return schema.Message{Role: schema.RoleTool, ToolCallID: id, Name: name, Content: text}
}

func usd(v float64) *float64 { return &v }

// TestRead: events as the documentation of each agent has them, written by hand.
func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		agent, printed string
		want           codingagent.Turn
	}{
		"claude: blocks of a message, a subagent, partial and unknown events": {"claude-code", `
npm warn something on stdout
{"type":"system","subtype":"init","model":"claude-x","tools":["Bash","Task"],"skills":["pdf"],"session_id":"s"}
{"type":"stream_event","event":{"type":"content_block_delta"}}
{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"thinking","thinking":"First the file."}],"usage":{"input_tokens":1}},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look."}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a.csv","is_error":false}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Task","input":{"prompt":"sum"}}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"m3","content":[{"type":"text","text":"Inside."},{"type":"tool_use","id":"t3","name":"Read","input":{"file_path":"a.csv"}}]},"parent_tool_use_id":"t2"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}]},"parent_tool_use_id":"t2"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"3"}]},"parent_tool_use_id":null}
{"type":"rate_limit_event","x":1}
{"type":"assistant","message":{"id":"m4","content":[{"type":"text","text":"The sum is 3."}]},"parent_tool_use_id":null}
{"type":"result","subtype":"success","is_error":false,"result":"The sum is 3.","num_turns":4,"duration_ms":10,"total_cost_usd":0.25,"usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":7},"permission_denials":[]}
`, codingagent.Turn{
			Model: "claude-x", InputTokens: 325, OutputTokens: 7, CostUSD: usd(.25),
			Messages: []schema.Message{
				{Role: schema.RoleAssistant, Content: "I look.", Reasoning: "First the file.", ToolCalls: []schema.ToolCall{called("t1", "Bash", `{"command":"ls"}`)}},
				returned("t1", "Bash", "a.csv"),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("t2", "Task", `{"prompt":"sum"}`)}},
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("t3", "Read", `{"file_path":"a.csv"}`)}},
				returned("t3", "Read", "1\n2"),
				returned("t2", "Task", "3"),
				said("The sum is 3."),
			},
		}},
		"claude: a result that no message had": {"claude-code", `
{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{}}
`, codingagent.Turn{Messages: []schema.Message{said("Done.")}}},
		"codex": {"codex", `
{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"Think."}}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"bash -lc ls","aggregated_output":"","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"bash -lc ls","aggregated_output":"a.csv","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"b.csv","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"i3","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":1},"result":{"content":[]},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"i4","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":2},"error":{"message":"locked"},"status":"failed"}}
{"type":"item.completed","item":{"id":"i5","type":"web_search","query":"weather"}}
{"type":"item.updated","item":{"id":"i6","type":"todo_list","items":[]}}
{"type":"item.completed","item":{"id":"i6","type":"todo_list","items":[]}}
{"type":"item.completed","item":{"id":"i7","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":80,"output_tokens":9}}
`, codingagent.Turn{
			InputTokens: 100, OutputTokens: 9,
			Messages: []schema.Message{
				{Role: schema.RoleAssistant, Reasoning: "Think."},
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("i1", "command_execution", `{"command":"bash -lc ls"}`)}},
				returned("i1", "command_execution", "a.csv\nexit status 2"),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("i2", "file_change", `{"changes":[{"path":"b.csv","kind":"add"}]}`)}},
				returned("i2", "file_change", "completed"),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("i3", "mcp__db__query", `{"q":1}`)}},
				returned("i3", "mcp__db__query", `{"content":[]}`),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("i4", "mcp__db__query", `{"q":2}`)}},
				returned("i4", "mcp__db__query", "locked"),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("i5", "web_search", `{"query":"weather"}`)}},
				returned("i5", "web_search", ""),
				said("Done."),
			},
		}},
		"copilot": {"copilot", `
{"type":"session.start","data":{"sessionId":"s"},"id":"1","timestamp":"t","parentId":null}
{"type":"assistant.message_delta","data":{"deltaContent":"I "},"ephemeral":true}
{"type":"assistant.message","data":{"messageId":"m","content":"I look.","toolRequests":[{"toolCallId":"c1","name":"bash","arguments":{"command":"ls"}}],"model":"gpt-y","outputTokens":4}}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"ls"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"a.csv"}}}
{"type":"assistant.message","data":{"messageId":"n","content":"One file.","toolRequests":[],"model":"gpt-y","outputTokens":3}}
{"type":"result","sessionId":"s","exitCode":0,"usage":{"premiumRequests":1}}
`, codingagent.Turn{
			Model: "gpt-y", OutputTokens: 7,
			Messages: []schema.Message{
				{Role: schema.RoleAssistant, Content: "I look.", ToolCalls: []schema.ToolCall{called("c1", "bash", `{"command":"ls"}`)}},
				returned("c1", "bash", "a.csv"), said("One file."),
			},
		}},
		"opencode": {"opencode", `
{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}
{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","callID":"c1","tool":"bash","state":{"status":"running","input":{"command":"ls"}}}}
{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a.csv"}}}
{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","reason":"tool-calls","cost":0.25,"tokens":{"input":10,"output":2,"reasoning":1,"cache":{"read":5,"write":3}}}}
{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","callID":"c2","tool":"read","state":{"status":"error","input":{"filePath":"x"},"error":"no such file"}}}
{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"One file."}}
{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","reason":"stop","cost":0.5,"tokens":{"input":20,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}}
`, codingagent.Turn{
			InputTokens: 38, OutputTokens: 7, CostUSD: usd(.75),
			Messages: []schema.Message{
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("c1", "bash", `{"command":"ls"}`)}},
				returned("c1", "bash", "a.csv"),
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{called("c2", "read", `{"filePath":"x"}`)}},
				returned("c2", "read", "no such file"),
				said("One file."),
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := lookup(t, test.agent).Read([]byte(test.printed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadFailures: an agent that failed, or was cut off, gives an error and no reply.
func TestReadFailures(t *testing.T) {
	for name, test := range map[string]struct{ agent, printed, want string }{
		"claude: no result line": {"claude-code", `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Done."}]}}`, "no event that ends its work"},
		"claude: out of turns":   {"claude-code", `{"type":"result","subtype":"error_max_turns","is_error":false,"usage":{}}`, "it says that it failed: error_max_turns"},
		"claude: out of money":   {"claude-code", `{"type":"result","subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($0.01)"]}`, "error_max_budget_usd: Reached maximum budget ($0.01)"},
		"claude: success that is an error": {
			"claude-code", `{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}`, "it says that it failed: Credit balance is too low",
		},
		"claude: nothing":       {"claude-code", "", "no event that ends its work"},
		"codex: turn failed":    {"codex", `{"type":"turn.failed","error":{"message":"quota"}}`, "it says that it failed: quota"},
		"codex: error":          {"codex", `{"type":"error","message":"stream disconnected"}`, "stream disconnected"},
		"codex: cut off":        {"codex", `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done."}}`, "no event that ends its work"},
		"copilot: exit code":    {"copilot", `{"type":"session.error","data":{"message":"No token"}}` + "\n" + `{"type":"result","exitCode":1}`, "it says that it failed: No token"},
		"copilot: no exit code": {"copilot", `{"type":"result"}`, "it says that it failed, and no reason"},
		"copilot: cut off":      {"copilot", `{"type":"assistant.message","data":{"content":"Done."}}`, "no event that ends its work"},
		"opencode: error":       {"opencode", `{"type":"error","error":{"name":"ProviderAuthError","data":{"message":"no key"}}}`, "ProviderAuthError: no key"},
		"opencode: cut off between steps": {
			"opencode", `{"type":"text","part":{"text":"Done."}}` + "\n" + `{"type":"step_finish","part":{"reason":"tool-calls"}}`, "no event that ends its work",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := lookup(t, test.agent).Read([]byte(test.printed)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
		})
	}
}

// TestPromptIsNoFlag: whatever a prompt or the name of a model says, it adds no flag to a
// command line.
func TestPromptIsNoFlag(t *testing.T) {
	for _, name := range codingagent.Names() {
		a := lookup(t, name)
		if argv, _ := a.Argv(codingagent.Settings{Model: "--yolo"}, "x"); !slices.Contains(argv, "--model=--yolo") || slices.Contains(argv, "--yolo") {
			t.Errorf("%s: the model may be read as a flag in %q", name, argv)
		}
		harmless, stdin := a.Argv(codingagent.Settings{Model: "m"}, "x")
		for _, prompt := range []string{"--dangerous", "-p", "", "a b", "--", "@/etc/passwd"} {
			argv, in := a.Argv(codingagent.Settings{Model: "m"}, prompt)
			switch last := len(argv) - 1; {
			case len(argv) != len(harmless):
				t.Errorf("%s: %q makes %q of %q", name, prompt, argv, harmless)
			case in == prompt && stdin == "x" && slices.Equal(argv, harmless):
			case in == "" && slices.Equal(argv[:last], harmless[:last]) && argv[last] == strings.TrimSuffix(harmless[last], "x")+prompt:
				// The last word is a flag with its value, or behind the end of all flags.
				if !strings.HasPrefix(argv[last], "--prompt=") && argv[last-1] != "--" {
					t.Errorf("%s: %q may be read as a flag in %q", name, prompt, argv)
				}
			default:
				t.Errorf("%s: %q gives %q and stdin %q", name, prompt, argv, in)
			}
		}
	}
}

// TestBounds: an agent is given the bounds that it has, and no others.
func TestBounds(t *testing.T) {
	want := map[string]string{
		"claude-code": "claude -p --output-format stream-json --verbose --dangerously-skip-permissions --no-session-persistence --model=m --max-turns=7 --max-budget-usd=0.5",
		"codex":       "codex exec --json --skip-git-repo-check --ephemeral --ignore-user-config --color never --dangerously-bypass-approvals-and-sandbox --model=m -",
		"copilot":     "copilot --output-format json --allow-all-tools --no-ask-user --no-auto-update --no-color --model=m --max-autopilot-continues=7 --prompt=hi",
		"opencode":    "opencode run --format json --model=m -- hi",
	}
	for _, name := range codingagent.Names() {
		argv, _ := lookup(t, name).Argv(codingagent.Settings{Model: "m", Turns: 7, USD: .5}, "hi")
		if got := strings.Join(argv, " "); got != want[name] {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want[name])
		}
	}
}

// FuzzRead: no line makes reading fail otherwise than by an error.
func FuzzRead(f *testing.F) {
	f.Add(`{"type":"result","subtype":"success","result":{"a":[1]}}`)
	f.Add(`{"type":"item.completed","item":{"type":"command_execution","exit_code":1}}`)
	f.Add(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use"},null]}}`)
	f.Fuzz(func(_ *testing.T, printed string) {
		for _, name := range codingagent.Names() {
			a, _ := codingagent.Lookup(name)
			_, _ = a.Read([]byte(printed)) // it must return
		}
	})
}
