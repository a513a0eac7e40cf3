package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// chosen returns the prompts or providers that a test is limited to. One that the file
// lacks is an error, since its rows would be missing silently.
func (c *compiler) chosen(t *test, doc *document.Document, what string, at ...any) []string {
	names := []string{}
	if doc.Text(at...) != "" {
		names = append(names, doc.Text(at...))
	}
	for i := range doc.Items(at...) {
		names = append(names, doc.Text(append(slices.Clip(at), i)...))
	}
	var known []string
	var is func(string) bool
	if what == "prompt" {
		is = func(name string) bool {
			return slices.ContainsFunc(c.prompts, func(p prompt) bool { return p.isAmong([]string{name}) })
		}
		for _, p := range c.prompts {
			known = append(known, p.label)
		}
	} else {
		is = func(name string) bool {
			return slices.ContainsFunc(c.providers, func(p provider) bool { return p.isAmong([]string{name}) })
		}
		for _, p := range c.providers {
			known = append(known, p.label, p.id)
		}
	}
	for _, name := range names {
		c.Budget.Go()
		if is(name) || what == "provider" && c.Settings.Against != "" {
			continue
		}
		hint := suggest.DidYouMean(name, known)
		if hint == "" {
			hint = "name it by its label, or as it is written under " + what + "s"
		}
		c.note(t, []schema.Problem{doc.Problem("unknown-"+what, fmt.Sprintf("the file has no %s %q", what, template.Clip(name)), hint, at...)})
	}
	return names
}

// isAmong reports whether a list of names contains a prompt: by its label, its file or
// its text, or by the part before a colon of its label.
func (p prompt) isAmong(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		name = plainName(name)
		return names != nil && (fits(name, p.label) || fits(name, p.written) || p.text != "" && name == p.text)
	})
}

// isAmong reports whether a list of names contains a provider: by its label, its id or
// its target.
func (p provider) isAmong(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return fits(name, p.label) || fits(plainName(name), plainName(p.id)) || fits(name, p.target)
	})
}

// plainName returns the name of a file without a prefix.
func plainName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
}

// fits reports whether a name matches: it is equal, or full begins with it and a colon,
// or with the part before a star.
func fits(name, full string) bool {
	start, isOpen := strings.CutSuffix(name, "*")
	return full != "" && (name == full || strings.HasPrefix(full, name+":") || isOpen && strings.HasPrefix(full, start))
}
