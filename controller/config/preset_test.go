package config

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTable holds the page for readers against the table of the code.
func TestTable(t *testing.T) {
	page, err := os.ReadFile("../../examples/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), presetTable()) {
		t.Errorf("examples/agents.md lacks the table; it must contain:\n%s", presetTable())
	}
}

// TestServers are sorted, complete, and name the vendor's page.
func TestServers(t *testing.T) {
	if names := PresetNames(); !slices.IsSorted(names) {
		t.Errorf("the servers are not sorted: %q", names)
	}
	for _, s := range presets {
		if (s.BaseURL == "") == (s.Form == "") {
			t.Errorf("%s has the address %q and the form %q, want one of them", s.Name, s.BaseURL, s.Form)
		}
		for _, address := range []string{s.BaseURL + s.Form, s.Page} {
			if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "localhost" {
				t.Errorf("%s: %s is not an address", s.Name, address)
			}
		}
		if got, ok := LookupPreset(s.Name); !ok || got != s {
			t.Errorf("the server named %s is %v, %t", s.Name, got, ok)
		}
	}
	if _, ok := LookupPreset("openai"); ok {
		t.Error("openai is a preset, want it to be the provider that presets stand for")
	}
}
