package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A TargetChange is one setting of a target, or of the roles, that a head changes.
type TargetChange struct {
	// Target is the name of the target; empty for a role.
	Target string `json:"target,omitempty"`
	// Setting is the name of the setting in plans, such as model, parameter top_k or
	// roles.judge. Was and Is are its values at the merge base and at head, empty for
	// none. A new target has its digest as Was. A target that cannot be read at head has its
	// file and the sum of that as both.
	Setting, Was, Is string
	// Data says that it is data under test. Head would be judged with it if its author
	// were allowed to choose it.
	Data bool
	// File is where the target is written; empty for gavel.yaml.
	File string
}

// wholeTarget is the setting of a target that is new at head.
const wholeTarget = "target"

// Clause names the change and its target: model old → new of the target bot.
func (c TargetChange) Clause() string {
	switch {
	case c.Target == "":
		return "changes " + c.String()
	case c.Setting == wholeTarget:
		return "has the target " + c.Target + ", which is " + c.String()
	}
	return "changes " + c.String() + " of the target " + c.Target
}

// Digest is the same for equal changes: of the same setting, or of any role, from the same
// value to the same.
func (c TargetChange) Digest() string {
	setting := c.Setting
	if c.Target == "" {
		setting = "roles" // some follow the judge, which a report names alone
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", c.File, c.Target, setting, c.Was, c.Is))
	return hex.EncodeToString(sum[:])
}

// maxShown is how many bytes of the old and the new value are shown together.
const maxShown = 120

// String describes the change: model old → new.
func (c TargetChange) String() string {
	was, is := readable(c.Was), readable(c.Is)
	switch {
	case c.Setting == wholeTarget:
		return c.Is
	case len(was)+len(is) > maxShown || strings.ContainsAny(was+is, "\n\r") || was == is:
		return c.Setting + " changed"
	case was == "":
		return c.Setting + " " + is + " added"
	case is == "":
		return c.Setting + " " + was + " removed"
	}
	return c.Setting + " " + was + " → " + is
}

// readable shows a value that is taken from the environment by the name of its variable.
func readable(value string) string {
	if name, ok := strings.CutSuffix(value, UnreadHost); ok {
		return "$" + strings.TrimPrefix(name, "https://")
	}
	return value
}

// TargetChanges are the changes that a head makes to the targets.
type TargetChanges struct {
	// Head is judged with the Judged changes, and without the Refused ones: they take
	// effect after the merge.
	Judged, Refused []TargetChange
	// Accepted are changes that were Refused until somebody accepted them: head is
	// judged without them.
	Accepted []TargetChange
	// Unbounded are the targets with a price at the tip whose model changes while head
	// names no price for the new one, sorted: no budget in money holds for them.
	Unbounded []string
	// Prices are the prices that head states for new models, by target.
	Prices map[string]Price
}

// Accept lets head be judged without the refused changes that somebody accepted.
func (c *TargetChanges) Accept(accepted func(TargetChange) bool) {
	var refused []TargetChange
	for _, change := range c.Refused {
		if accepted(change) {
			c.Accepted = append(slices.Clip(c.Accepted), change)
		} else {
			refused = append(refused, change)
		}
	}
	c.Refused = refused
}

// UnderTest returns the configuration that judges a head. It is c, the configuration at
// the tip of a branch that decides, except for the data under test of the targets. If
// take is set, head's changes to that data since the merge base count, whose
// configuration is base. Data under test is the model in the body of a request, the
// parameters of sampling, the system prompt, tools, mocks and the ends of
// conversations; the inputs of targets and of programs come from both sides. Base is
// judged with c itself: under its inputs the verdicts of base are stored, and a
// deployed agent cannot be asked again as it was at base. A target that is new at head
// takes everything else from one of c's that has the same address, and one that head
// removes cannot be named.
func (c *Config) UnderTest(base, head *Config, take bool) (*Config, TargetChanges) {
	m := merge{tip: c, base: base, head: head, take: take, out: *c}
	m.out.Targets, m.out.Aliases = maps.Clone(c.Targets), maps.Clone(c.Aliases)
	m.out.Unusable = maps.Clone(c.Unusable)
	for _, name := range slices.Sorted(maps.Keys(head.Targets)) {
		m.target(name)
	}
	m.removed()
	m.unread()
	m.roles()
	m.names()
	if take {
		m.programs()
	}
	if slices.Equal(m.out.ProgramInputs, c.ProgramInputs) && reflect.DeepEqual(m.out.Targets, c.Targets) && m.out.DefaultTarget == c.DefaultTarget && maps.Equal(m.out.Aliases, c.Aliases) {
		return c, m.changes
	}
	m.keepJudges()
	m.out.Digest = m.out.digest()
	return &m.out, m.changes
}

// UnreadHost ends the replacement for a variable's value where a configuration is only
// compared. No head chooses a setting by such a value.
const UnreadHost = ".environment.invalid"

// A merge makes the configuration of a head.
type merge struct {
	tip, base, head *Config
	take            bool
	out             Config
	changes         TargetChanges
}

// target merges one target of head.
func (m *merge) target(name string) {
	is := m.head.Targets[name]
	tip, known := m.tip.Targets[name]
	was, before := m.base.Targets[name]
	switch {
	case !known && before:
		return // the tip has removed it since
	case !known:
		m.added(is)
		return
	case !before:
		was = tip
	}
	out := tip
	data, other := changesOf(was, is, tip)
	if m.take {
		m.changes.Judged = append(m.changes.Judged, data...)
		out.takeData(was, is)
		m.price(&out, tip, is)
	} else {
		data = append(data, addedInputs(was, is, tip)...)
		for i := range data {
			data[i].Data = true
		}
		other = append(data, other...)
	}
	m.changes.Refused = append(m.changes.Refused, other...)
	m.out.Targets[name] = out
}

// removed leaves out the targets that head removes: a definition that still names one is
// as invalid as it is after the merge. A head without any target keeps all of base's, since
// gavel.yaml itself may be gone.
func (m *merge) removed() {
	for name := range m.base.Targets {
		_, kept := m.head.Targets[name]
		if _, unusable := m.head.Unusable[name]; !kept && !unusable && len(m.head.Targets) > 0 {
			delete(m.out.Targets, name)
		}
	}
}

// added merges a target that only head has.
func (m *merge) added(is Target) {
	refused := TargetChange{Target: is.Name, Setting: wholeTarget, Was: is.digest(), Is: "new, with an address that no target of base has", File: is.File}
	for _, name := range slices.Sorted(maps.Keys(m.tip.Targets)) {
		tip := m.tip.Targets[name]
		if tip.fixed() != is.fixed() {
			continue
		}
		if refused.Is, refused.Data = "new", true; m.take {
			out := tip
			out.Name, out.File = is.Name, is.File
			out.takeData(tip, is)
			m.price(&out, tip, is)
			m.out.Targets[is.Name] = out
			return
		}
	}
	m.changes.Refused = append(m.changes.Refused, refused)
	m.out.Targets[is.Name] = is.unasked()
}

// digest is the hex SHA-256 of all settings of a target.
func (t Target) digest() string {
	sum := sha256.Sum256([]byte(encode(t)))
	return hex.EncodeToString(sum[:])
}

// unasked returns what cases are compiled with, and what digests cover, if a target is
// never opened: it names no environment variable.
func (t Target) unasked() Target {
	t.Refused = true
	t.APIKeyEnv, t.Env, t.Price, t.JudgeTarget = "", nil, nil, ""
	t.HTTP.Headers = slices.Clone(t.HTTP.Headers)
	for i := range t.HTTP.Headers {
		t.HTTP.Headers[i].Env = ""
	}
	return t
}

// price does not apply the tip's price to a model that is not the tip's. A budget in
// money counts the higher of the tip's price and head's.
func (m *merge) price(out *Target, tip, is Target) {
	if out.Model == tip.Model || tip.Price == nil && is.Price == nil {
		return
	}
	out.Price = nil
	if is.Price != nil {
		if m.changes.Prices == nil {
			m.changes.Prices = map[string]Price{}
		}
		m.changes.Prices[out.Name] = *is.Price
	}
	switch {
	case is.Price == nil:
		m.changes.Unbounded = append(m.changes.Unbounded, out.Name)
	case tip.Price == nil:
		out.Ceiling = is.Price
	default:
		out.Ceiling = &Price{max(tip.Price.Input, is.Price.Input), max(tip.Price.Output, is.Price.Output)}
	}
}

// unread refuses the targets of other files that cannot be read without the
// environment, if their files changed: their changes are unknown.
func (m *merge) unread() {
	files := m.base.ChangedFiles(m.head, "")
	for _, name := range slices.Sorted(maps.Keys(m.tip.Targets)) {
		_, usable := m.head.Targets[name]
		if tip := m.tip.Targets[name]; !usable && m.head.Unusable[name].Message != "" && slices.Contains(files, tip.File) {
			sum := m.head.sumOf(tip.File)
			m.changes.Refused = append(m.changes.Refused, TargetChange{Target: name, Setting: tip.File, Was: sum, Is: sum, File: tip.File})
		}
	}
	for name, problem := range m.head.Unusable {
		_, known := m.out.Targets[name]
		if _, unusable := m.out.Unusable[name]; !known && !unusable {
			if m.out.Unusable == nil {
				m.out.Unusable = map[string]schema.Problem{}
			}
			m.out.Unusable[name] = problem
		}
	}
}

// sumOf returns the name of a file of targets and the sum of its content. The sum of a missing
// file is empty.
func (c *Config) sumOf(file string) string {
	at := slices.IndexFunc(c.TargetsFiles, func(f TargetsFile) bool { return f.File == file })
	if at < 0 {
		return file + " "
	}
	return file + " " + c.TargetsFiles[at].Sum
}

// roles refuses other targets for the roles.
func (m *merge) roles() {
	was, is, tip := m.base.Roles.Targets(), m.head.Roles.Targets(), m.tip.Roles.Targets()
	for _, role := range slices.Sorted(maps.Keys(is)) {
		if is[role] != was[role] && is[role] != tip[role] {
			m.changes.Refused = append(m.changes.Refused, TargetChange{Setting: "roles." + string(role), Was: was[role], Is: is[role]})
		}
	}
}

// names takes over the default target and the aliases. A definition may choose its
// target anyway, and every target has the address of one of the tip's, or is refused.
func (m *merge) names() {
	if m.head.DefaultTarget != m.base.DefaultTarget {
		m.out.DefaultTarget, m.out.Implied = m.head.DefaultTarget, m.head.Implied
	}
	for name := range m.tip.Aliases {
		if _, kept := m.head.Aliases[name]; !kept && m.base.Aliases[name] != "" {
			delete(m.out.Aliases, name)
		}
	}
	for name, is := range m.head.Aliases {
		if is == m.base.Aliases[name] {
			continue
		}
		if m.out.Aliases == nil {
			m.out.Aliases = map[string]string{}
		}
		m.out.Aliases[name] = is
	}
}

// programs adds the files that programs may see at head to the tip's.
func (m *merge) programs() {
	for _, glob := range m.head.ProgramInputs {
		if !slices.Contains(m.base.ProgramInputs, glob) && !slices.Contains(m.out.ProgramInputs, glob) {
			m.out.ProgramInputs = append(slices.Clip(m.out.ProgramInputs), glob)
		}
	}
}

// keepJudges keeps the judges as the tip has them: a target with a role that is also
// under test plays the role under another name.
func (m *merge) keepJudges() {
	m.out.Judges = map[string]string{}
	for name, tip := range m.tip.Targets {
		if reflect.DeepEqual(m.out.Targets[name], tip) {
			continue
		}
		own := name + " as a judge"
		m.out.Judges[name] = own
		tip.Name = own
		m.out.Targets[own] = tip
	}
	roles := &m.out.Roles
	for _, name := range []*string{&roles.Judge, &roles.Simulator, &roles.Extractor, &roles.Embedder, &roles.Classifier, &roles.Moderator} {
		*name = m.out.Judge(*name)
	}
	roles.Editors = maps.Clone(roles.Editors)
	for editor, name := range roles.Editors {
		roles.Editors[editor] = m.out.Judge(name)
	}
}

// Judge returns the name of the target that judges when a target with this name is
// asked to: the same name, or another one if the target is under test with changes of
// head.
func (c *Config) Judge(name string) string { return cmp.Or(c.Judges[name], name) }

// fixed returns the settings of a target that a head never chooses, without those that
// do not affect an answer: its limits and its price.
func (t Target) fixed() string {
	t.Model, t.SystemPrompt, t.Tools, t.Mocks, t.MaxTurns, t.EndsConversation = "", schema.TargetPrompt{}, nil, nil, 0, nil
	t.Name, t.Inputs, t.Implied, t.Price, t.Reuse = "", nil, false, nil, nil
	t.Timeout, t.Concurrency, t.RequestsPerMinute, t.TokensPerMinute, t.WaitFor = 0, 0, 0, 0, 0
	all := t.Parameters
	t.Parameters = map[string]json.RawMessage{}
	for name, raw := range all {
		if !isSampling(name, raw) {
			t.Parameters[name] = raw
		}
	}
	return encode(t)
}

// takeData takes over the data under test that differs between was and is.
func (t *Target) takeData(was, is Target) {
	if was.Provider != is.Provider || was.CodingAgent != is.CodingAgent {
		return // parameters of one mean nothing to another
	}
	if is.Model != was.Model && is.BaseURL == was.BaseURL && !isUnread(is.Model) {
		t.Model = is.Model
	}
	if a, b := was.SystemPrompt, is.SystemPrompt; (a.Text != b.Text || a.File != b.File) && !isUnread(b.Text) {
		t.SystemPrompt = b
	}
	if !slices.Equal(was.Tools, is.Tools) {
		t.Tools, t.ToolsAt = is.Tools, is.ToolsAt
	}
	if encode(was.Mocks) != encode(is.Mocks) {
		t.Mocks = is.Mocks
	}
	if was.MaxTurns != is.MaxTurns {
		t.MaxTurns = is.MaxTurns
	}
	if !slices.Equal(was.EndsConversation, is.EndsConversation) {
		t.EndsConversation = is.EndsConversation
	}
	for _, glob := range is.Inputs {
		if !slices.Contains(t.Inputs, glob) {
			t.Inputs = append(slices.Clip(t.Inputs), glob)
		}
	}
	t.Implied = t.Implied || is.Implied
	t.Parameters = maps.Clone(t.Parameters)
	for name := range union(was.Parameters, is.Parameters) {
		old, next := was.Parameters[name], is.Parameters[name]
		if canonical(old) == canonical(next) || !isSampling(name, old) || !isSampling(name, next) {
			continue
		}
		if delete(t.Parameters, name); next != nil {
			t.Parameters[name] = next
		}
	}
}

// isUnread reports whether a value is taken from the environment.
func isUnread(value string) bool { return strings.Contains(value, UnreadHost) }

// sampling are the parameters that control how a model answers, by wire name, for all
// providers. Other parameters of a compatible server may choose a vendor, an address or
// a price.
var sampling = []string{
	"temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "stop", "stop_sequences",
	"presence_penalty", "frequency_penalty", "reasoning_effort",
}

// isSampling reports whether a parameter is data under test with this value; a missing
// one is. An effort may be in an object that has no other field.
func isSampling(name string, raw json.RawMessage) bool {
	var inner map[string]any
	isObject := json.Unmarshal(raw, &inner) == nil && inner != nil
	switch name {
	case "reasoning", "output_config":
		return raw == nil || isObject && len(inner) == 1 && inner["effort"] != nil
	case "thinking":
		for key := range inner {
			if key != "type" && key != "budget_tokens" {
				return false
			}
		}
		return raw == nil || isObject
	}
	return slices.Contains(sampling, name) && !isObject && !isUnread(string(raw))
}

// changesOf returns the changes of a target between the merge base and head that affect
// answers: of data under test, and of the other parts of its identity. A value that the
// tip has by now does not count.
func changesOf(was, is, tip Target) (data, other []TargetChange) {
	add := func(isData bool, setting, old, next string) {
		change := TargetChange{Target: is.Name, Setting: setting, Was: old, Is: next, File: is.File}
		if isData {
			data = append(data, change)
		} else {
			other = append(other, change)
		}
	}
	a, b, c := was.settings(), is.settings(), tip.settings()
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		if a[name] == b[name] || b[name] == c[name] {
			continue
		}
		key, isParameter := strings.CutPrefix(name, parameterPrefix)
		isData := slices.Contains(dataSettings, name) || isParameter && isSampling(key, was.Parameters[key]) && isSampling(key, is.Parameters[key])
		if name == "model" && was.BaseURL != is.BaseURL || isUnread(b[name]) || was.Provider != is.Provider || was.CodingAgent != is.CodingAgent {
			isData = false
		}
		add(isData, name, a[name], b[name])
	}
	return data, other
}

// addedInputs returns the change that head lists more files that a target is built
// from: a change of those files counts only if head is judged with that list.
func addedInputs(was, is, tip Target) []TargetChange {
	var added []string
	for _, glob := range is.Inputs {
		if !slices.Contains(was.Inputs, glob) && !slices.Contains(tip.Inputs, glob) {
			added = append(added, glob)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return []TargetChange{{Target: is.Name, Setting: "inputs", Is: strings.Join(added, ", "), File: is.File}}
}

// parameterPrefix begins the names of parameters in an identity.
const parameterPrefix = "parameter "

// dataSettings are the settings under test besides parameters.
var dataSettings = []string{"model", "system_prompt", "tools", "mocks", "max_turns", "ends_conversation"}

// settings returns the settings of a target that affect answers, by gavel.yaml's names
// for them.
func (t Target) settings() map[string]string {
	out := map[string]string{}
	for _, p := range t.Identity(nil, nil) {
		if p.Tool == "" && p.Name != "tools" {
			out[p.Name] = p.Value
		}
	}
	set := func(name, value string, there bool) {
		if there {
			out[name] = value
		}
	}
	prompt := t.SystemPrompt
	set("system_prompt", prompt.Text+prompt.File, prompt.Text+prompt.File != "")
	set("tools", strings.Join(t.Tools, ", "), t.Tools != nil)
	set("mocks", encode(t.Mocks), len(t.Mocks) > 0)
	set("max_turns", fmt.Sprint(t.MaxTurns), t.MaxTurns > 0)
	set("ends_conversation", strings.Join(t.EndsConversation, ", "), len(t.EndsConversation) > 0)
	set("kind", t.Kind, true)
	set("path", t.Path, t.Path != "")
	set("judge_target", t.JudgeTarget, t.JudgeTarget != "")
	set("accepts_prompt", encode(t.AcceptsPrompt), t.AcceptsPrompt != nil)
	set("accepts_images", encode(t.AcceptsImages), t.AcceptsImages != nil)
	return out
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, b)
	return out
}
