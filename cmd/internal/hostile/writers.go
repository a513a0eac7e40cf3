package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/stage"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// writerShapes are heads of somebody who may write: several definitions with all that each may
// have, up to what a change may have, and beyond.
func writerShapes() []shape {
	const head = "prompts: [\"say {{x}}\"]\nproviders: [agent]\n"
	many := func(n int, definition func(i int) string) map[string]string {
		files := map[string]string{}
		for i := range n {
			files[fmt.Sprintf("w%d/promptfooconfig.yaml", i)] = definition(i)
		}
		return files
	}
	text := strings.Repeat("x", 100_000)
	asserts := func(int) string {
		return head + "defaultTest:\n  assert:\n" + lines(100, "  - {type: contains, value: w%d}") + "tests:\n" + lines(1950, "- {vars: {x: b%d}}")
	}
	texts := func(int) string {
		return head + "defaultTest: {vars: {x: " + text + "}, assert: [{type: contains, value: w}]}\ntests:\n" + lines(300, "- {vars: {y: b%d}}")
	}
	values := func(int) string {
		return head + "defaultTest: {assert: [{type: contains, value: " + text + "}]}\ntests:\n" + lines(600, "- {vars: {x: b%d}}")
	}
	rows := func(int) string {
		return head + "defaultTest: {assert: [{type: contains, value: Hello}]}\ntests:\n" + lines(9500, "- {vars: {x: b%d}}")
	}
	failing := func(i int) string { return strings.Replace(rows(i), "Hello", "never", 1) }
	mistaken := func(int) string { return head + "tests:\n" + lines(5900, "- {vars: {x: b%d}, asert: a, tres: 1}") }
	return []shape{
		{"assertions within the bounds of a writer", many(1, asserts), "", true},
		{"assertions beyond the bounds of a writer", many(2, asserts), "more than 200000 assertions", true},
		{"texts within the bounds of a writer", many(3, texts), "", true},
		{"texts beyond the bounds of a writer", many(5, texts), "more than 192 MiB", true},
		{"values within the bounds of a writer", many(3, values), "", true},
		{"failing rows within the bounds of a writer", many(6, failing), "", true},
		{"rows beyond the bounds of a writer", many(7, rows), "more than 60000 cases", true},
		{"mistakes of a writer", many(9, mistaken), "more than 100000 mistakes", true},
	}
}

// newWriters makes a repository with a head for each shape.
func newWriters(s *stage.Stage, dir string, shapes []shape) *fixture {
	p := begin(s, dir)
	for _, shape := range shapes {
		p.shaped(shape, true)
	}
	gittest.Run(p, p.dir, "checkout", "-q", "-f", "main")
	p.add(head{name: "harmless", green: true}, "100644 blob "+p.blob(definition)+"\ttest_definitions/b.json")
	p.open()
	return p
}

// writers has a job judge each head of somebody who may write, and a server the first, which
// takes most. A server judges several heads of writers at once, and their memory adds up; it
// judges heads of strangers one after the other.
func (t *trial) writers(ctx context.Context) error {
	shapes := writerShapes()
	jobs := t.jobs(ctx, newWriters(t.Stage, filepath.Join(t.dir, "writers"), shapes))
	one := newWriters(t.Stage, filepath.Join(t.dir, "writer"), shapes[:1])
	return errors.Join(jobs, t.server(ctx, one, shapes[0].name, func(context.Context, string) error { return nil }))
}
