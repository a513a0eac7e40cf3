package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
)

// A secret is a credential. Everything that prints or encodes it shows
// [redacted].
type secret string

const redacted = "[redacted]"

// Format prints [redacted] for every verb.
func (secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// MarshalText is [redacted], in JSON and in logs.
func (secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// minSecret keeps the stand-in keys of local servers, such as none, from being
// cut out of every text that has the word.
const minSecret = 8

// Scrub returns a function that replaces the credentials of the targets by
// [redacted] wherever their values stand in a text, also in the forms that they
// take in URLs and JSON. Credentials are the values of every api_key_env and of
// those env variables that are secrets by their name or are URLs with a
// password. Values shorter than 8 bytes are left alone.
func Scrub(targets []config.Target, lookup func(name string) (string, bool)) func(string) string {
	var forms []string
	for _, t := range targets {
		names := []string{t.APIKeyEnv}
		for _, name := range t.Env {
			if v, _ := lookup(name); secretName(name) || secretURL(v) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if v, ok := lookup(name); ok && name != "" && len(v) >= minSecret {
				forms = append(forms, v, url.QueryEscape(v), url.PathEscape(v), jsonForm(v))
			}
		}
	}
	if len(forms) == 0 {
		return func(s string) string { return s }
	}
	// At one place the first form that fits is taken: the longest.
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}

func secretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "pass", "cred", "auth", "dsn"}, func(part string) bool {
		return strings.Contains(lower, part)
	})
}

func secretURL(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// jsonForm is s as it stands between the quotes of a JSON string.
func jsonForm(s string) string {
	// A string always encodes.
	raw, _ := json.Marshal(s)
	return string(raw[1 : len(raw)-1])
}
