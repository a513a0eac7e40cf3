package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFirstWords(t *testing.T) {
	for _, tt := range []struct{ text, title, sentence string }{
		{"# Costs\n\n## Runs\n\nA run [costs](x.md) calls. More of it.\n", "Costs", "A run costs calls."},
		{"---\nname: x\n---\n\n# A [page](y.md)\n\n```sh\n$ a command\n```\n| a |\n\n`One` sentence.", "A page", "`One` sentence."},
	} {
		file := filepath.Join(t.TempDir(), "a.md")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if title, sentence, err := firstWords(file); title != tt.title || sentence != tt.sentence || err != nil {
			t.Errorf("%q: %q, %q, %v; want %q, %q", tt.text, title, sentence, err, tt.title, tt.sentence)
		}
	}
	file := filepath.Join(t.TempDir(), "b.md")
	if err := os.WriteFile(file, []byte("# Only a heading\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := firstWords(file); err == nil {
		t.Error("a page without a sentence has one")
	}
}
