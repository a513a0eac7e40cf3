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
	"slices"
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
// documents, schemas, and comments and texts of Go code. Prompts are not among it,
// since a verdict depends on them.
var english = []word{
	{regexp.MustCompile(`(?i)\banew\b`), "write again, or rerun"},
	{regexp.MustCompile(`(?i) beside\b`), "write next to, or in addition to"},
	{regexp.MustCompile(`(?i)\bunder way\b`), "write in progress, or running"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "write forever"},
	{regexp.MustCompile(`(?i)\bsuffic(e|es|ed)\b`), "write is enough"},
	{regexp.MustCompile(`(?i)\b(heed|obey)(s|ed)?\b`), "write follow, or accept"},
	{regexp.MustCompile(`(?i)\b(tell|tells|told) of\b`), "write reports, or is told about"},
	{regexp.MustCompile(`(?i)\b(mend(s|ed)?|deserve[sd]?)\b`), "write fix, or needs"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "name the person or the program"},
	{regexp.MustCompile(`(?i)\b(lies|lay)\b`), "write is, or has"},
	{regexp.MustCompile(`^\s*// \w+ (says|tells) whether\b`), "write reports whether"},
}

var (
	// stands is said of files and lines. A placeholder stands for something.
	stands = regexp.MustCompile(`(?i)\b(?:stands?|stood)\b(?: for\b| in for\b)?`)
	// negatedNoun is a noun with a no where the verb should have a not.
	negatedNoun = regexp.MustCompile(`(?i)(?:\b(\w+) )?\b(?:is|are|was|were) no (\w+)`)
	// negatable are the words after which it is English all the same.
	negatable = []string{"longer", "more", "less", "one", "worse", "better", "larger", "smaller", "other", "different"}
)

// unEnglish finds what a piece of prose says as a native engineer would not, with what to
// write instead.
func unEnglish(said []byte) (found []string) {
	for _, w := range english {
		if m := w.pattern.Find(said); m != nil {
			found = append(found, "says "+strings.TrimSpace(string(m))+": "+w.message)
		}
	}
	for _, m := range stands.FindAll(said, -1) {
		if !bytes.HasSuffix(m, []byte(" for")) {
			found = append(found, "says "+string(m)+": write is, or has")
		}
	}
	for _, m := range negatedNoun.FindAllSubmatch(said, -1) {
		if !bytes.EqualFold(m[1], []byte("there")) && !slices.Contains(negatable, string(m[2])) {
			found = append(found, "says "+string(m[0])+": negate the verb")
		}
	}
	return found
}

// opening is a sentence that begins with a word that a question begins with, or with Of
// and what it is about. It is looked for in comments of Go code; a line with a question
// mark may be a question, and something may be called Of.
var opening = regexp.MustCompile(`(?://|[.!?:;]) (?:What|Who|Whoever|Whatever|Whose|Whichever|Of(?: [a-hj-z]\S*| in\S*)) [^?]*$`)

// isProse says which files are read as English as a whole, by their ends.
var isProse = regexp.MustCompile(`\.(md|cue|txt|html)$`)

var (
	// goComment is a comment of Go code that has a line of its own, or ends one.
	goComment = regexp.MustCompile(`(?:^|\s)//.*`)
	// goText is a text in Go code.
	goText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// isMessage means that a text has more than a word, and so is not a name.
	isMessage = regexp.MustCompile(`\w \w`)
)

// prose returns what of a line of a file is English. Test data and what an earlier
// version wrote are not corrected, nor is the page that quotes these words. In tests
// only comments count, since their texts are data, and of controller/evaluate, whose
// texts are prompts.
func prose(name string, text []byte) []byte {
	switch {
	case strings.Contains(name, "testdata/"), strings.HasSuffix(name, "CONTRIBUTING.md"), strings.Contains(name, "internal/check/"):
		return nil
	case isProse.MatchString(name):
		return text
	case strings.HasSuffix(name, ".go"):
		said := goComment.Find(text)
		if strings.HasSuffix(name, "_test.go") || said != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("//")) {
			return said
		}
		for _, literal := range goText.FindAll(text, -1) {
			if isMessage.Match(literal) && !strings.HasPrefix(name, "controller/evaluate/") {
				said = append(append(said[:len(said):len(said)], ' '), literal...)
			}
		}
		return said
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
		for _, message := range unEnglish(said) {
			found = append(found, finding{name, line, message})
		}
		if m := opening.Find(said); m != nil && strings.HasSuffix(name, ".go") {
			found = append(found, finding{name, line, "a sentence begins with " + strings.Fields(string(m))[1] + ": begin with its subject"})
		}
	}
	return found
}
