package evalcase

import (
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// readTags are those at some places, each once: texts, lists of them, and objects, whose fields are
// key=value.
func readTags(of ...document.Place) []string {
	var out []string
	add := func(tag string) {
		if tag != "" && !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	for _, p := range of {
		for _, tag := range p.Strings() {
			add(tag)
		}
		with := keyed(p)
		for _, key := range slices.Sorted(maps.Keys(with)) {
			add(key + "=" + with[key])
		}
	}
	return out
}

// keyed are the texts of an object.
func keyed(p document.Place) map[string]string {
	if !p.IsObject() {
		return nil
	}
	out := map[string]string{}
	for _, key := range p.Keys() {
		if value := p.Text(key); value != "" {
			out[key] = value
		}
	}
	return out
}

// maxMetadata bounds the case metadata that results repeat, in bytes.
const maxMetadata = 8 << 10

// readFacts returns the data about a suite's test in AgentV's results.
func readFacts(suite, test document.Place) schema.Facts {
	out := schema.Facts{Category: suite.Text("category"), Tags: keyed(suite.Sub("tags"))}
	if raw := test.JSON("metadata"); test.IsObject("metadata") && len(raw) <= maxMetadata {
		out.Metadata = raw
	}
	return out
}
