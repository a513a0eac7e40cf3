package target

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/redact"
)

// A secret is a credential. Everything that prints or encodes it shows
// [Redacted].
type secret string

// Redacted replaces a credential.
const Redacted = redact.Sign

// Format prints [Redacted] for every verb.
func (secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, Redacted) }

// MarshalText returns [Redacted], in JSON and in logs.
func (secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// ScrubSecrets returns a function that replaces the credentials of the targets by
// [Redacted] wherever their values occur in a text, see [redact.Values]. Text that only
// looks like a credential stays: cases judge whether an agent reveals one.
func ScrubSecrets(targets []config.Target, lookup func(name string) (string, bool)) func(string) string {
	var known redact.Values
	known.Add(Secrets(targets, lookup)...)
	return known.Hide
}

// Secrets returns the credentials of targets: the values of every api_key_env, of the
// variables of headers, and of the env variables whose names mean a secret or whose
// values are URLs with a password. A nil lookup finds none.
func Secrets(targets []config.Target, lookup func(name string) (string, bool)) (values []string) {
	if lookup == nil {
		return nil
	}
	for _, t := range targets {
		names := t.Variables()
		for _, name := range t.Env {
			if v, _ := lookup(name); secretName(name) || secretURL(v) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if v, ok := lookup(name); ok && name != "" {
				values = append(values, v)
			}
		}
	}
	return values
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
