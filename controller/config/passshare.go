package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// shareForm is the form of a pass share: a text or a number. Another text is left
// to the checker.
type shareForm schema.PassShare

// UnmarshalJSON reads either form.
func (s *shareForm) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	share, _ := schema.ParsePassShare(text)
	*s = shareForm(share)
	return nil
}

// passShares refuses texts that are not shares, and malformed globs.
func (k *checker) passShares() {
	k.config.PassSharesAt = map[string]schema.Position{}
	for _, glob := range slices.Sorted(maps.Keys(k.config.PassShares)) {
		k.glob(glob, "pass", glob)
		if k.config.PassShares[glob] == (schema.PassShare{}) {
			k.Fail("bad-share", fmt.Sprintf("%q is not a share of samples", k.Doc.Text("pass", glob)),
				fmt.Sprintf("write 8 of 10, with at most %d samples, or 0.8", schema.MaxIterations), "pass", glob)
		}
		k.config.PassSharesAt[glob] = k.Doc.At("pass", glob)
	}
}

// StalePassShares returns warnings about globs of pass that match none of the cases.
func (c *Config) StalePassShares(keys []string) []schema.Problem {
	var out []schema.Problem
	for _, glob := range slices.Sorted(maps.Keys(c.PassShares)) {
		if slices.ContainsFunc(keys, func(key string) bool { return wildcard.Match(glob, key) }) {
			continue
		}
		hint := suggest.DidYouMean(glob, keys)
		if hint == "" {
			hint = "remove it, or write the key of a case or a glob such as billing/**"
		}
		out = append(out, schema.Problem{Position: c.PassSharesAt[glob], Severity: schema.Warning, Rule: "unknown-case", Message: fmt.Sprintf("%s has a pass share and matches no case", glob), Hint: hint})
	}
	return out
}

// looserShares names the shares that head lowers, takes over a weaker number of samples, or
// adds: without one, the format says how many samples have to pass.
func looserShares(base, head map[string]schema.PassShare) []string {
	var out []string
	globs := slices.Collect(maps.Keys(base))
	for glob := range head {
		if _, ok := base[glob]; !ok {
			globs = append(globs, glob)
		}
	}
	slices.Sort(globs)
	for _, glob := range globs {
		was, had := base[glob]
		is, has := head[glob]
		if !had && is.Share < 1 || !has || had && (is.Share < was.Share || is.Share == was.Share && is.Samples < was.Samples) {
			out = append(out, fmt.Sprintf("pass %s %s → %s", glob, shareText(was, had), shareText(is, has)))
		}
	}
	return out
}

func shareText(share schema.PassShare, isSet bool) string {
	if !isSet {
		return "none"
	}
	return share.String()
}
