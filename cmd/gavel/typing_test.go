package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// typingMistakes are the results of one slip in a text at a place: a character that is
// missing, is there twice, or has changed places with the next one.
func typingMistakes(text string, at int) []string {
	out := []string{text[:at] + text[at+1:], text[:at+1] + text[at:]}
	if at+1 < len(text) && text[at] != text[at+1] {
		out = append(out, text[:at]+string(text[at+1])+string(text[at])+text[at+2:])
	}
	return out
}

// inValue reports whether a place of a YAML file is within a text that may be any
// other one, or within a comment.
func inValue(text string, at int) bool {
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	colon := strings.Index(line, ": ")
	comment := strings.Index(line, "#")
	place := at - begin
	return colon >= 0 && place > colon+1 && !strings.ContainsAny(line[colon:], "{[\"") || comment >= 0 && place >= comment
}

// tutorialRepository is an empty folder after step 3 of the tutorial, but that a mock
// answers, so that no program is started.
func tutorialRepository(t *testing.T) (dir, definition string) {
	t.Helper()
	page, err := os.ReadFile("../../examples/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range block.FindAllStringSubmatch(string(page), -1) {
		if name := toWrite.FindStringSubmatch(found[1]); name != nil && name[1] == "test_definitions/refunds.yaml" {
			definition = found[3]
		}
	}
	if definition == "" {
		t.Fatal("the tutorial does not write test_definitions/refunds.yaml")
	}
	dir = t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{
		"gavel.yaml":                    "version: 1\ntargets:\n  agent:\n    provider: mock\n    replies:\n      - reply: within 30 days\n",
		"test_definitions/refunds.yaml": definition,
	})
	return dir, definition
}

// TestOneTypingMistakeInAFile makes every single typing mistake in the keys and the
// signs of the tutorial's files: each either changes nothing, or is answered with a
// problem in that line or the next one, and with what to write instead.
func TestOneTypingMistakeInAFile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"test_definitions/refunds.yaml", "gavel.yaml"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir, _ := tutorialRepository(t)
			name := filepath.Join(dir, file)
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			right, answered, silent := string(raw), 0, 0
			for at := range right {
				if right[at] == '\n' || inValue(right, at) {
					continue
				}
				line := 1 + strings.Count(right[:at], "\n")
				for _, wrong := range typingMistakes(right, at) {
					if err := os.WriteFile(name, []byte(wrong), 0o600); err != nil {
						t.Fatal(err)
					}
					switch fault := unanswered(t, dir, file, line); {
					case fault == "":
						answered++
					case fault == "silent" && stillPasses(t, dir):
						silent++
					default:
						t.Errorf("line %d: %s\n%s", line, fault, wrong)
					}
				}
			}
			t.Logf("%d mistakes were answered, %d change nothing", answered, silent)
			if answered < 50 {
				t.Errorf("only %d mistakes were answered", answered)
			}
		})
	}
}

// unanswered returns what is missing in the answer to a mistake in a line; nothing if
// it has the place and the repair, and silent if there is no problem.
func unanswered(t *testing.T, dir, file string, line int) string {
	t.Helper()
	stdout, stderr, _ := gavel(t, dir, "validate", "--json")
	var report struct {
		Problems []struct {
			File, Severity, Message, Hint string
			Line, Column                  int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		return fmt.Sprintf("validate prints %q, %q", stdout, stderr)
	}
	fault := "silent"
	for _, p := range report.Problems {
		if near := p.Line - line; p.File == file && p.Column > 0 && p.Hint != "" && near >= -1 && near <= 1 {
			return ""
		}
		fault = fmt.Sprintf("%s:%d:%d: %s = %s", p.File, p.Line, p.Column, p.Message, p.Hint)
	}
	return fault
}

func stillPasses(t *testing.T, dir string) bool {
	t.Helper()
	stdout, _, code := gavel(t, dir, "run")
	return code == exitPass && strings.Contains(stdout, "1 case: 1 passed")
}

// TestOneTypingMistakeInACommand makes every single typing mistake in the names of the
// tutorial's commands: each names the word and what may be meant.
func TestOneTypingMistakeInACommand(t *testing.T) {
	t.Parallel()
	dir, _ := tutorialRepository(t)
	for _, tt := range []struct {
		args []string
		word int
	}{
		{[]string{"init", "--yes"}, 0}, {[]string{"init", "--command", "sh agent.sh", "--yes"}, 1}, {[]string{"init", "--command", "sh agent.sh", "--yes"}, 3},
		{[]string{"run"}, 0}, {[]string{"plan"}, 0}, {[]string{"explain", "refunds#window"}, 0},
		{[]string{"plan", "--base", "HEAD"}, 1}, {[]string{"run", "--base", "main"}, 1}, {[]string{"run", "--base", "main"}, 2}, {[]string{"plan", "--base", "HEAD"}, 2},
		{[]string{"explain", "refunds#window"}, 1}, {[]string{"run", "test_definitions/refunds.yaml"}, 1},
	} {
		for at := range tt.args[tt.word] {
			for _, wrong := range typingMistakes(tt.args[tt.word], at) {
				if path.Clean(wrong) == tt.args[tt.word] {
					continue // it is the same file
				}
				args := append([]string{}, tt.args...)
				args[tt.word] = wrong
				stdout, stderr, code := gavel(t, dir, args...)
				named := strings.Contains(stderr, strings.TrimLeft(wrong, "-"))
				repair := strings.Contains(stderr, tt.args[tt.word]) || strings.Contains(stderr, "did you mean") || strings.Contains(stderr, "--help") || strings.Contains(stderr, "there are")
				if code != exitUsage || !named || !repair {
					t.Errorf("gavel %s ends with %d:\n%s%s", strings.Join(args, " "), code, stdout, stderr)
				}
			}
		}
	}
}
