package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema"
)

// form is gavel.yaml as it is written.
type form struct {
	Definitions   list                  `json:"definitions"`
	DefaultTarget string                `json:"default_target"`
	Targets       map[string]targetForm `json:"targets"`
	Roles         struct {
		Judge      string            `json:"judge"`
		Simulator  string            `json:"simulator"`
		Extractor  string            `json:"extractor"`
		Embedder   string            `json:"embedder"`
		Classifier string            `json:"classifier"`
		Moderator  string            `json:"moderator"`
		Editors    map[string]string `json:"editors"`
	} `json:"roles"`
	Aliases  map[string]string `json:"aliases"`
	Defaults struct {
		Iterations   int                `json:"iterations"`
		Timeout      duration           `json:"timeout"`
		MaxTurns     int                `json:"max_turns"`
		MaxTurnsCap  *int               `json:"max_turns_cap"`
		Difficulties map[string]float64 `json:"difficulties"`
	} `json:"defaults"`
	Thresholds map[string]float64   `json:"thresholds"`
	Pass       map[string]shareForm `json:"pass"`
	Reuse      *reuseForm           `json:"reuse"`
	Gate       struct {
		FailOn        string      `json:"fail_on"`
		MinScore      *float64    `json:"min_score"`
		MaxDrop       *float64    `json:"max_drop"`
		MaxCostRise   percentForm `json:"max_cost_rise"`
		MaxTimeRise   percentForm `json:"max_time_rise"`
		MaxTokensRise percentForm `json:"max_tokens_rise"`
		MinPower      MinPower    `json:"min_power"`
		Required      []string    `json:"required"`
		Removed       string      `json:"removed"`
		Scores        string      `json:"scores"`
		Unsure        string      `json:"unsure"`
	} `json:"gate"`
	Noise       noiseForm    `json:"noise"`
	Quarantine  []Quarantine `json:"quarantine"`
	Environment []string     `json:"environment"`
	Budget      struct {
		limitsForm
		PullRequest limitsForm `json:"pull_request"`
		Day         limitsForm `json:"day"`
	} `json:"budget"`
	Dialects map[string]string `json:"dialects"`
	Tools    []string          `json:"tools"`
	Programs struct {
		Inputs []string `json:"inputs"`
	} `json:"programs"`
	Skills struct {
		Target         string `json:"target"`
		ExpectedOutput string `json:"expected_output"`
		Lift           bool   `json:"lift"`
	} `json:"skills"`
	Comment  commentForm `json:"comment"`
	Notify   []Notify    `json:"notify"`
	Statuses string      `json:"statuses"`
}

type targetForm struct {
	httpForm
	Provider    string                     `json:"provider"`
	Kind        string                     `json:"kind"`
	URL         string                     `json:"url"`
	Model       string                     `json:"model"`
	BaseURL     string                     `json:"base_url"`
	API         string                     `json:"api"`
	APIKeyEnv   string                     `json:"api_key_env"`
	Temperature json.RawMessage            `json:"temperature"`
	TopP        json.RawMessage            `json:"top_p"`
	Seed        json.RawMessage            `json:"seed"`
	MaxTokens   json.RawMessage            `json:"max_tokens"`
	Parameters  map[string]json.RawMessage `json:"parameters"`
	Argv        []string                   `json:"argv"`
	Env         []string                   `json:"env"`
	Prompt      string                     `json:"prompt"`
	Row         bool                       `json:"row"`
	Bounds      Bounds                     `json:"bounds"`
	Start       struct {
		Argv    []string `json:"argv"`
		Ready   string   `json:"ready"`
		Timeout duration `json:"timeout"`
	} `json:"start"`
	Path    string `json:"path"`
	Replies []struct {
		Match     string   `json:"match"`
		Reply     string   `json:"reply"`
		Echo      bool     `json:"echo"`
		EchoChat  bool     `json:"echo_chat"`
		Again     []string `json:"again"`
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
	} `json:"replies"`
	Timeout           duration `json:"timeout"`
	Concurrency       int      `json:"concurrency"`
	RequestsPerMinute int      `json:"requests_per_minute"`
	TokensPerMinute   int      `json:"tokens_per_minute"`
	Price             *struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
	} `json:"price"`
	Inputs       []string   `json:"inputs"`
	Revision     revision   `json:"revision"`
	URLTemplate  string     `json:"url_template"`
	WaitFor      duration   `json:"wait_for"`
	SystemPrompt promptForm `json:"system_prompt"`
	Tools        []string   `json:"tools"`
	Mocks        map[string][]struct {
		Params   map[string]json.RawMessage `json:"params"`
		Response json.RawMessage            `json:"response"`
	} `json:"mocks"`
	EndsConversation []string   `json:"ends_conversation"`
	MaxTurns         int        `json:"max_turns"`
	AcceptsPrompt    *bool      `json:"accepts_prompt"`
	AcceptsImages    *bool      `json:"accepts_images"`
	Reuse            *reuseForm `json:"reuse"`
}

// revision is the name of a way, or {reply: any}.
type revision string

// UnmarshalJSON reads either form.
func (r *revision) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*string)(r)) == nil {
		return nil
	}
	var form struct {
		Reply revision `json:"reply"`
	}
	err := json.Unmarshal(raw, &form)
	*r = form.Reply
	return err
}

// promptForm is a text, or the name of a file.
type promptForm struct{ text, file string }

// UnmarshalJSON reads either form.
func (p *promptForm) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.text) == nil {
		return nil
	}
	var named struct {
		File string `json:"file"`
	}
	err := json.Unmarshal(raw, &named)
	p.file = named.File
	return err
}

type limitsForm struct {
	Calls  *int64   `json:"calls"`
	Tokens *int64   `json:"tokens"`
	USD    *float64 `json:"usd"`
}

// list is one text or several.
type list []string

// UnmarshalJSON reads either form.
func (l *list) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(l))
}

// commentForm is when there is a comment and how it is updated, or one of the two.
type commentForm struct {
	When   string `json:"when"`
	Update string `json:"update"`
}

// UnmarshalJSON reads any of the forms.
func (c *commentForm) UnmarshalJSON(raw []byte) error {
	var word string
	if json.Unmarshal(raw, &word) != nil {
		type full commentForm
		return json.Unmarshal(raw, (*full)(c))
	}
	if word == "always" || word == "affected" {
		c.When = word
	} else {
		c.Update = word
	}
	return nil
}

// duration is a time such as 60s or 1h30m. Other text stays zero here; the checks of
// values report it with its place.
type duration time.Duration

// UnmarshalJSON reads the text form.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if v, err := ParseDuration(text); err == nil {
		*d = duration(v)
	}
	return nil
}

// reuseForm is on, off, true, false, or a mode with a greatest age.
type reuseForm struct {
	on     bool
	maxAge duration
}

// UnmarshalJSON reads any of the forms.
func (r *reuseForm) UnmarshalJSON(raw []byte) error {
	full := struct {
		Mode   json.RawMessage `json:"mode"`
		MaxAge duration        `json:"max_age"`
	}{Mode: raw}
	if raw[0] == '{' {
		full.Mode = json.RawMessage("true")
		if err := json.Unmarshal(raw, &full); err != nil {
			return err
		}
	}
	switch mode := strings.Trim(string(full.Mode), `"`); mode {
	case "on", "true":
		r.on = true
	case "off", "false":
	default:
		return fmt.Errorf("reuse is on or off, not %s", mode)
	}
	r.maxAge = full.MaxAge
	return nil
}

func (r reuseForm) value() Reuse { return Reuse{On: r.on, MaxAge: time.Duration(r.maxAge)} }

// baseURLs are the default addresses of model providers.
var baseURLs = map[string]string{
	OpenAI:    "https://api.openai.com/v1",
	Anthropic: "https://api.anthropic.com",
	Gemini:    "https://generativelanguage.googleapis.com/v1beta/openai",
}

// anthropicTokens is the max_tokens of targets that set none: the API refuses requests
// without it.
const anthropicTokens = "4096"

// config fills in the defaults.
func (f form) config() *Config {
	c := &Config{
		DefaultTarget: f.DefaultTarget,
		Targets:       make(map[string]Target, len(f.Targets)),
		Roles: Roles{
			Judge: f.Roles.Judge, Simulator: f.Roles.Simulator, Extractor: f.Roles.Extractor,
			Embedder: f.Roles.Embedder, Classifier: f.Roles.Classifier, Moderator: f.Roles.Moderator, Editors: f.Roles.Editors,
		},
		Aliases: f.Aliases,
		Defaults: Defaults{
			f.Defaults.Iterations, time.Duration(f.Defaults.Timeout), f.Defaults.MaxTurns, f.Defaults.MaxTurnsCap, f.Defaults.Difficulties,
		},
		Thresholds: f.Thresholds,
		Reuse:      Reuse{On: true},
		Gate:       Gate{f.Gate.FailOn, f.Gate.MinScore, f.Gate.MaxDrop, f.Gate.MaxCostRise.of, f.Gate.MaxTimeRise.of, f.Gate.MaxTokensRise.of, f.Gate.MinPower, f.Gate.Required, f.Gate.Removed, f.Gate.Scores, f.Gate.Unsure},
		Noise:      f.Noise.value(),
		Quarantine: f.Quarantine, Environment: f.Environment,
		Budget:  Budget{Limits(f.Budget.limitsForm), Limits(f.Budget.PullRequest), Limits(f.Budget.Day)},
		Comment: f.Comment.Update, QuietComment: f.Comment.When == "affected", GroupStatuses: f.Statuses == "groups",
		Notify: f.Notify,
		Skills: Skills{f.Skills.Target, f.Skills.ExpectedOutput == "criterion", f.Skills.Lift},
	}
	for _, dir := range f.Definitions {
		c.Definitions = append(c.Definitions, path.Clean(dir))
	}
	for _, glob := range f.Programs.Inputs {
		c.ProgramInputs = append(c.ProgramInputs, path.Clean(glob))
	}
	for _, dir := range f.Tools {
		c.Tools = append(c.Tools, path.Clean(dir))
	}
	for name, t := range f.Targets {
		c.Targets[name] = t.target(name)
	}
	for _, glob := range slices.Sorted(maps.Keys(f.Dialects)) {
		c.Dialects = append(c.Dialects, Pin{glob, f.Dialects[glob]})
	}
	for glob, share := range f.Pass {
		if c.PassShares == nil {
			c.PassShares = map[string]schema.PassShare{}
		}
		c.PassShares[glob] = schema.PassShare(share)
	}
	if f.Reuse != nil {
		c.Reuse = f.Reuse.value()
	}
	c.fill()
	return c
}

// RootFiles returns the definitions outside of the default folder that are read if they
// exist.
func RootFiles() []string {
	return []string{"promptfooconfig.json", "promptfooconfig.yaml", "promptfooconfig.yml"}
}

// DefaultDefinitions is the folder with definitions if none is configured.
const DefaultDefinitions = "test_definitions"

// fill puts defaults where nothing is set.
func (c *Config) fill() {
	if len(c.Definitions) == 0 {
		c.Definitions = []string{DefaultDefinitions}
		c.RootFiles = RootFiles()
	}
	if agents := c.agents(); c.DefaultTarget == "" && len(agents) == 1 {
		c.DefaultTarget, c.Implied = agents[0], true
	}
	if c.Comment == "" {
		c.Comment = "edit"
	}
	c.Digest = c.digest()
	c.OwnDigest = c.Digest
}

// agents returns the names of the targets without a role.
func (c *Config) agents() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Targets)), c.Roles.Has)
}

// Default returns the configuration of a repository without a gavel.yaml: one
// definitions folder, no targets and every default.
func Default() *Config { return form{}.config() }

func (f targetForm) target(name string) Target {
	t := Target{
		Name: name, Provider: f.Provider, Kind: f.Kind, Declared: f.Kind != "",
		URL: f.URL, Model: f.Model, BaseURL: strings.TrimRight(f.BaseURL, "/"), API: f.API, APIKeyEnv: f.APIKeyEnv,
		Parameters: f.parameters(), Argv: f.Argv, Env: f.Env, PromptArgument: f.Prompt == "argument", TakesRow: f.Row, Path: f.Path, Bounds: f.Bounds,
		Timeout: time.Duration(f.Timeout), Concurrency: f.Concurrency,
		RequestsPerMinute: f.RequestsPerMinute, TokensPerMinute: f.TokensPerMinute,
		Inputs: f.Inputs, Revision: string(f.Revision), URLTemplate: f.URLTemplate, WaitFor: time.Duration(f.WaitFor),
		HTTP:  f.format(),
		Tools: f.Tools, MaxTurns: f.MaxTurns, EndsConversation: f.EndsConversation, AcceptsPrompt: f.AcceptsPrompt, AcceptsImages: f.AcceptsImages,
	}
	if t.Provider == HTTP {
		t.Argv, t.Ready, t.StartTime = f.Start.Argv, f.Start.Ready, time.Duration(f.Start.Timeout)
	}
	if t.SystemPrompt.Text = f.SystemPrompt.text; f.SystemPrompt.file != "" {
		t.SystemPrompt.File = path.Clean(f.SystemPrompt.file)
	}
	for _, r := range f.Replies {
		reply := MockReply{Match: r.Match, Reply: r.Reply, Echo: r.Echo, EchoChat: r.EchoChat, Again: r.Again}
		for _, call := range r.ToolCalls {
			reply.ToolCalls = append(reply.ToolCalls, MockCall{call.Name, call.Arguments})
		}
		t.Replies = append(t.Replies, reply)
	}
	if f.Price != nil {
		t.Price = &Price{f.Price.Input, f.Price.Output}
	}
	if len(f.Mocks) > 0 {
		t.Mocks = make(map[string][]ToolMock, len(f.Mocks))
	}
	for tool, mocks := range f.Mocks {
		for _, m := range mocks {
			t.Mocks[tool] = append(t.Mocks[tool], ToolMock{m.Params, m.Response})
		}
	}
	if f.Reuse != nil {
		reuse := f.Reuse.value()
		t.Reuse = &reuse
	}
	t.fill()
	return t
}

// parameters joins the parameters that have their own field with the free-form ones. A
// null is kept: it removes a parameter that would be sent by default.
func (f targetForm) parameters() map[string]json.RawMessage {
	all := maps.Clone(f.Parameters)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for name, raw := range map[string]json.RawMessage{
		"temperature": f.Temperature, "top_p": f.TopP, "seed": f.Seed, "max_tokens": f.MaxTokens,
	} {
		if raw != nil {
			all[name] = raw
		}
	}
	return all
}

// fill puts the provider's defaults where nothing is set.
func (t *Target) fill() {
	if server, ok := LookupPreset(t.Provider); ok {
		t.Preset, t.Provider, t.KeyHeader = server.Name, OpenAI, server.Header
		t.BaseURL, t.APIKeyEnv = cmp.Or(t.BaseURL, server.BaseURL), cmp.Or(t.APIKeyEnv, server.KeyEnv)
	}
	if agent, ok := codingagent.Lookup(t.Provider); ok {
		t.CodingAgent, t.Provider = agent.Name, Command
		t.APIKeyEnv = cmp.Or(t.APIKeyEnv, agent.DefaultKey())
		if api := agent.API(t.Model); api != nil {
			t.BaseURL = cmp.Or(t.BaseURL, api.Base)
		}
	}
	agent := t.Provider == HTTP || t.Provider == Command
	if t.Kind == "" {
		t.Kind = Model
		if agent {
			t.Kind = Agent
		}
	}
	if t.BaseURL == "" && t.Preset == "" {
		t.BaseURL = baseURLs[t.Provider]
	}
	switch t.Provider {
	case OpenAI:
		t.API = cmp.Or(t.API, "chat")
	case Anthropic:
		// The version is a part of the path, not of the endpoint.
		t.BaseURL = strings.TrimSuffix(t.BaseURL, "/v1")
		if t.Parameters["max_tokens"] == nil {
			t.Parameters["max_tokens"] = json.RawMessage(anthropicTokens)
		}
	}
	if t.Revision == "" && t.Provider == HTTP && !t.Started() {
		t.Revision = RevisionNone
		if t.URLTemplate != "" {
			t.Revision = RevisionTemplate
		}
	}
	if t.RunsProgram() && t.CodingAgent == "" {
		t.Implied = t.Inputs == nil
		// Files that the command line names are part of the program: ./planner, or
		// agent.py after python3. Arguments that are not files do not count.
		for _, file := range t.Words() {
			if !slices.Contains(t.Inputs, file) {
				t.Inputs = append(t.Inputs, file)
			}
		}
	}
}

// Words returns the words of a command line that may name files of the repository.
func (t Target) Words() []string {
	var files []string
	for _, arg := range words(t.Argv) {
		if file := path.Clean(arg); isLocal(file) && !strings.ContainsAny(arg, "*?[$\\") {
			files = append(files, file)
		}
	}
	return files
}

// words returns the words of a command line, including those of a shell script in it.
func words(argv []string) []string {
	var all []string
	for i, arg := range argv {
		if i > 0 && argv[i-1] == "-c" && slices.Contains([]string{"sh", "bash", "dash", "zsh"}, path.Base(argv[0])) {
			for _, word := range strings.Fields(arg) {
				all = append(all, strings.Trim(word, "\"';|&()"))
			}
			continue
		}
		all = append(all, arg)
	}
	return all
}

// isLocal reports whether a clean path is in the repository and is not its
// root.
func isLocal(clean string) bool {
	return clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") && !path.IsAbs(clean) && !strings.HasPrefix(clean, "-")
}
