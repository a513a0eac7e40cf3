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

// english are words that a native engineer would not write, in what people read:
// documents, schemas, and comments of Go code. Texts that models are sent are not
// among it, since a verdict depends on them.
var english = []word{
	{regexp.MustCompile(`(?i)\banew\b`), "write again, or rerun"},
	{regexp.MustCompile(`(?i) beside\b`), "write next to, or in addition to"},
	{regexp.MustCompile(`(?i)\bunder way\b`), "write in progress, or running"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "write forever"},
	{regexp.MustCompile(`(?i)\bsuffic(e|es|ed)\b`), "write is enough"},
	{regexp.MustCompile(`(?i)\b(heed|obey)(s|ed)?\b`), "write follow, or accept"},
	{regexp.MustCompile(`(?i)\b(tell|tells|told) of\b`), "write reports, or is told about"},
}

// opening is a sentence that begins with a word that a question begins with. It is
// looked for in comments of Go code; a line with a question mark may be a question.
var opening = regexp.MustCompile(`(?://|[.!?:;]) (?:What|Who|Whoever|Whatever|Whose|Whichever) [^?]*$`)

// isProse says which files are read as English as a whole, by their ends.
var isProse = regexp.MustCompile(`\.(md|cue|txt|html)$`)

// goComment is a comment of Go code that has a line of its own, or ends one.
var goComment = regexp.MustCompile(`(?:^|\s)//.*`)

// prose is what of a line of a file is English; nil for nothing. Test data and what an
// earlier version wrote are not corrected, nor is the page that quotes these words.
func prose(name string, text []byte) []byte {
	switch {
	case strings.Contains(name, "testdata/"), strings.HasSuffix(name, "CONTRIBUTING.md"), strings.Contains(name, "internal/check/"):
		return nil
	case isProse.MatchString(name):
		return text
	case strings.HasSuffix(name, ".go"):
		return goComment.Find(text)
	}
	return nil
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
		said := prose(name, text)
		for _, w := range english {
			if m := w.pattern.Find(said); m != nil {
				found = append(found, finding{name, line, "says " + strings.TrimSpace(string(m)) + ": " + w.message})
			}
		}
		if m := opening.Find(said); m != nil && strings.HasSuffix(name, ".go") {
			found = append(found, finding{name, line, "a sentence begins with " + strings.Fields(string(m))[1] + ": begin with its subject"})
		}
	}
	return found
}
