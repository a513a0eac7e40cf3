package config

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema"
)

// A Property is one part of a target that affects its answers.
type Property struct {
	// Name is readable: model, parameter temperature, mock get_weather.
	Name string
	// Value is the text itself, or canonical JSON, or a hash of a secret.
	Value string
	// Tool limits the property to cases that are offered the tool of this name.
	Tool string
}

// Deterministic reports whether the target gives the same answer to a question each
// time: a recording does, and a mock without other replies for further measurements.
func (t Target) Deterministic() bool {
	varies := slices.ContainsFunc(t.Replies, func(r MockReply) bool { return len(r.Again) > 0 })
	return t.Provider == Replay || t.Provider == Mock && !varies
}

// Identity lists the properties of the target that enter the execution digest, sorted
// by name: its address, what it is asked, and what answers instead of it. They leave
// out its name, timeouts, rates, prices and the name of its key variable, and the bytes
// of a recording or of a program, which are not in the configuration.
//
// The values of declared environment variables enter as an HMAC-SHA-256 under the salt,
// so that digests may be shown without revealing the values.
func (t Target) Identity(lookup func(name string) (string, bool), salt []byte) []Property {
	var list []Property
	add := func(name, value string) {
		if value != "" {
			list = append(list, Property{Name: name, Value: value})
		}
	}
	add("provider", t.Provider)
	if !t.RunsTools() {
		add("tools", "its own")
	}
	add("model", t.Model)
	add("base url", t.BaseURL)
	add("api", t.API)
	add("key header", t.KeyHeader)
	add("revision", revisionRule(t.Revision))
	// The template is reached in place of the URL.
	add("url", cmp.Or(t.URLTemplate, t.URL))
	for name, value := range properties(t.HTTP) {
		add(name, value)
	}
	for name, raw := range t.Parameters {
		add("parameter "+name, canonical(raw))
	}
	if len(t.Argv) > 0 {
		add("argv", encode(t.Argv))
		add("files that it sees", "its folder and inputs") // and once all of the repository
	}
	if t.PromptArgument {
		add("prompt", "argument")
	}
	if t.TakesRow {
		add("row", "told")
	}
	if agent, ok := codingagent.Lookup(t.CodingAgent); ok {
		add("coding agent", agent.Name)
		add("driver", strconv.Itoa(codingagent.DriverVersion))
		add("bounds", encode(t.Bounds))
	}
	if t.OutputVersion > 0 {
		add("output version", strconv.Itoa(t.OutputVersion))
	}
	for _, name := range t.Env {
		add("environment "+name, hide(name, lookup, salt))
	}
	if len(t.Replies) > 0 {
		add("replies", encode(t.Replies))
	}
	if t.RunsTools() {
		for tool, mocks := range t.Mocks {
			list = append(list, Property{Name: "mock " + tool, Value: encode(mocks), Tool: tool})
		}
	}
	slices.SortFunc(list, func(a, b Property) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// hide returns a hash that stands in for the value of an environment variable. An unset
// variable differs from every set one.
func hide(name string, lookup func(string) (string, bool), salt []byte) string {
	value, ok := "", false
	if lookup != nil {
		value, ok = lookup(name)
	}
	if !ok {
		return "not set"
	}
	mac := hmac.New(sha256.New, salt)
	// The name goes in, so that equal values of two variables do not show.
	fmt.Fprintf(mac, "%d:%s%s", len(name), name, value)
	return hex.EncodeToString(mac.Sum(nil))
}

// encode returns canonical JSON.
func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// The values hold only strings and JSON that was parsed before.
		panic(fmt.Sprintf("encoding a configured value: %v", err))
	}
	return canonical(raw)
}

func canonical(raw json.RawMessage) string {
	out, err := schema.Canonical(raw)
	if err != nil {
		// Only a number out of range comes here; its text is as good.
		return string(raw)
	}
	return string(out)
}

// digest is the hex SHA-256 of all values of a Config, whatever the form of the file
// that it was read from.
func (c *Config) digest() string {
	all := *c
	all.Digest = ""
	sum := sha256.Sum256([]byte(encode(all)))
	return hex.EncodeToString(sum[:])
}

// revisionRule names the rule by which a reply counts. Before this name, the reply to a working
// tree counted whatever commit the agent named.
func revisionRule(revision string) string {
	if revision == RevisionReply {
		return "reply, with its inputs"
	}
	return revision
}
