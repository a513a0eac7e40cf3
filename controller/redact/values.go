package redact

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// least protects the placeholder keys of local servers, such as none, since they would
// be removed from every text with that word.
const least = 8

// Values are the known secrets. They are replaced by [Sign] everywhere in a text,
// including in the forms that they take in URLs and JSON. The zero Values and nil are
// empty; Values are safe for concurrent use.
type Values struct {
	mu    sync.RWMutex
	forms []string // the longest first; guarded by mu
}

// Add adds secrets. It ignores secrets of less than 8 bytes, and a nil Values ignores
// all.
func (v *Values) Add(secrets ...string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	forms := slices.Clone(v.forms)
	for _, s := range secrets {
		if len(s) >= least {
			forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), jsonForm(s))
		}
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	v.forms = slices.Compact(forms)
}

// Hide replaces the secrets in a text.
func (v *Values) Hide(s string) string {
	if v == nil {
		return s
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var pairs []string
	for _, f := range v.forms {
		if strings.Contains(s, f) {
			pairs = append(pairs, f, Sign)
		}
	}
	if pairs == nil {
		return s
	}
	// At each position the first matching form is taken: the longest.
	return strings.NewReplacer(pairs...).Replace(s)
}

// Text is Hide followed by [Text].
func (v *Values) Text(s string) string { return Text(v.Hide(s)) }

// jsonForm returns s as it appears between the quotes of a JSON string.
func jsonForm(s string) string {
	// A string always encodes.
	raw, _ := json.Marshal(s)
	return string(raw[1 : len(raw)-1])
}
