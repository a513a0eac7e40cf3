package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// shownStderr bounds the part of stderr shown in an error, from its end.
const shownStderr = 400

// The parts of a traceback of Python.
const tracebackBegin = "Traceback (most recent call last):"

var (
	frame   = lazyregexp.New(`^\s+File "([^"]+)", line (\d+)`)
	pointer = lazyregexp.New(`^[\s~^]*$`)
)

// ending returns the end of stderr on one line: the error of a traceback with the last
// line of the program's own files, or else the last lines. Control characters of a
// terminal become spaces.
func ending(stderr, tree string) string {
	lines := slices.DeleteFunc(strings.Split(strings.ToValidUTF8(stderr, "\uFFFD"), "\n"), pointer.MatchString)
	own := ""
	for i, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == tracebackBegin {
			own, lines = traceback(lines[i+1:], tree)
			break
		}
	}
	said := strings.Join(lines, " ")
	if len(said) > shownStderr {
		said = "…" + said[len(said)-shownStderr:]
	}
	return strings.TrimSpace(oneLine(said) + own)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))), " ")
}

// traceback returns the place of the last frame in the files of tree, in brackets, and the
// lines after the frames.
func traceback(lines []string, tree string) (own string, rest []string) {
	for len(lines) > 0 && strings.TrimLeft(lines[0], " \t") != lines[0] {
		if m := frame.FindStringSubmatch(lines[0]); m != nil {
			name := m[1]
			if rel, err := filepath.Rel(tree, name); filepath.IsAbs(name) && err == nil {
				name = rel
			}
			if filepath.IsLocal(name) && !strings.HasPrefix(name, "<") {
				own = " (" + oneLine(filepath.ToSlash(name)) + ":" + m[2] + ")"
			}
		}
		lines = lines[1:]
	}
	return own, lines
}

// The words of programs that did not reach a server, or did not find a file or module.
var (
	unreached = lazyregexp.New(`(?i)name resolution|name or service not known|could ?n[o']t resolve|network is unreachable|\bEAI_AGAIN\b|\bENOTFOUND\b|fetch failed|` +
		`APIConnectionError|(urlopen|socket|connect|http|getaddrinfo|dial)[^\n]*(operation not permitted|EPERM)`)
	// unanswered are the words of a program that nobody answers on its private interface.
	unanswered = lazyregexp.New(`(?i)connection refused|ECONNREFUSED`)
	unfound    = lazyregexp.New(`(?i)(no such file or directory|permission denied|ENOENT|EACCES)[^\n]*['": ](/[^\s'":]+)`)
	noModule   = lazyregexp.New(`(?i)No module named|Cannot find (module|package)|MODULE_NOT_FOUND`)
)

// advice returns the setting that a failed program may need; empty if none is known to
// help. It never depends on the files of this machine, which a program could learn of.
func (b *Box) advice(p Program, stderr string) string {
	outside := func(m []string) bool { return m != nil && !strings.HasPrefix(m[2], p.Tree+"/") }
	switch {
	case b.mode == Off:
		return ""
	case !b.policy.Network && (unreached.MatchString(stderr) || p.port != 0 && unanswered.MatchString(stderr)):
		return "programs have no network in the sandbox; --sandbox-network allows it (sandbox.network in the operator's file)"
	case noModule.MatchString(stderr):
		return "a program sees the modules of the system and of the repository; show it others by --sandbox-path and --sandbox-read, such as the modules of a virtual environment (sandbox.path and sandbox.read in the operator's file)"
	case outside(unfound.FindStringSubmatch(stderr)):
		return "a program sees few files outside of the repository; --sandbox-read shows it more (sandbox.read in the operator's file)"
	}
	return ""
}
