package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A word is text that no file of the repository may contain.
type word struct {
	pattern *regexp.Regexp
	message string
}

// unwanted are the words. Their patterns are written so that they do not match
// themselves.
var unwanted = []word{
	{
		regexp.MustCompile(`(^|[^\w./-])/(work|root|home|Users)/[\w.-]+`),
		"names a folder of somebody's machine",
	},
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`), "announces what is not done; do it, or leave the words out"},
	{regexp.MustCompile(`^(<{7}|>{7}) `), "is left over from a merge"},
}

// words looks through every file that git tracks or would track.
func words(ctx context.Context, root string, _ io.Writer) error {
	list, err := output(ctx, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var found []finding
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // tracked and deleted
		}
		if err != nil {
			return err
		}
		found = append(found, wordsIn(name, data)...)
	}
	return report(found)
}

// wordsIn finds the unwanted words of one file; none in a binary one.
func wordsIn(name string, data []byte) []finding {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	var found []finding
	line := 0
	for text := range bytes.Lines(data) {
		line++
		for _, w := range unwanted {
			if w.pattern.Match(text) {
				found = append(found, finding{name, line, w.message})
			}
		}
	}
	return found
}
