package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestTheServersReadme names every permission and event that --check asks for,
// and every metric that is scraped, and no other.
func TestTheServersReadme(t *testing.T) {
	data, err := os.ReadFile("../../examples/server/README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	key := j.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77, Permissions: map[string]string{}})
	file := asApp(t, j, key)
	stdout, _, _ := j.call(t, "serve", "--check", "--config", file)
	asked := 0
	for _, m := range regexp.MustCompile(`choose ([A-Z][a-z ]+): ([A-Z][a-z -]+) under`).FindAllStringSubmatch(stdout, -1) {
		asked++
		if !strings.Contains(text, "| "+m[1]+" | "+m[2]+" |") {
			t.Errorf("no row of %s: %s", m[1], m[2])
		}
	}
	events := regexp.MustCompile(`does not receive ([a-z_, ]+), which`).FindStringSubmatch(stdout)
	if asked != 3 || events == nil {
		t.Fatalf("%d permissions, events %q in\n%s", asked, events, stdout)
	}
	told := regexp.MustCompile(`Subscribe to ([A-Za-z, ]+)\.`).FindStringSubmatch(text)
	if told == nil {
		t.Fatal("no events")
	}
	names := strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(told[1], " and ", ", ")), ", ", "|")
	if got, want := strings.ReplaceAll(names, " ", "_"), strings.ReplaceAll(events[1], ", ", "|"); got != want {
		t.Errorf("events %s, want %s", got, want)
	}

	base, log, end := j.serving(t, file)
	defer end()
	log.await(t, `"branch":"main"`)
	_, scraped := get(t, base+"/metrics")
	said, there := metricNames("(?m)^\\| `", text), metricNames(`(?m)^# TYPE `, scraped)
	if !slices.Equal(said, there) {
		t.Errorf("metrics %v, scraped are %v", said, there)
	}
}

// metricNames are the names after what a line begins with, sorted.
func metricNames(begin, text string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?:`+begin+`)(gavel_\w+)`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
