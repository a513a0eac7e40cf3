// Package secret keeps credentials out of what is printed and stored.
package secret

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
)

// A Value is a credential. Everything that prints or encodes it shows
// [Redacted].
type Value string

// Redacted stands where a credential was.
const Redacted = "[redacted]"

// Format prints [Redacted] for every verb.
func (Value) Format(f fmt.State, _ rune) { fmt.Fprint(f, Redacted) }

// MarshalText is [Redacted], in JSON and in logs.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// keys are the forms of the providers' keys, each with the text that it begins
// with. They are long and random enough not to be anything else.
var keys = []struct {
	begins string
	form   *regexp.Regexp
}{
	{"sk-", regexp.MustCompile(`\bsk-(?:(?:ant|proj|svcacct|admin)-[\w-]{20,}|[A-Za-z0-9]{32,})`)},
	{"AIza", regexp.MustCompile(`\bAIza[\w-]{35}`)},
	{"AQ.", regexp.MustCompile(`\bAQ\.[\w-]{40,}`)},
}

// hideKeys replaces what looks like a provider's key: an agent may have one
// that is not in the configuration and say it.
func hideKeys(s string) string {
	for _, k := range keys {
		if strings.Contains(s, k.begins) {
			s = k.form.ReplaceAllLiteralString(s, Redacted)
		}
	}
	return s
}

// minSecret keeps the stand-in keys of local servers, such as none, from being
// cut out of every text that has the word.
const minSecret = 8

// Scrub returns a function that replaces the credentials of the targets by
// [Redacted] wherever their values stand in a text, also in the forms that they
// take in URLs and JSON. Credentials are the values of every api_key_env and of
// those env variables that are secrets by their name or are URLs with a
// password. Values shorter than 8 bytes are left alone. Whatever has the form
// of a key of OpenAI's, Anthropic's or Gemini's is replaced, too.
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
		return hideKeys
	}
	// At one place the first form that fits is taken: the longest.
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Redacted)
	}
	known := strings.NewReplacer(pairs...)
	return func(s string) string { return hideKeys(known.Replace(s)) }
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
