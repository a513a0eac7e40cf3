package editor

import "strings"

// A diffLine is one of a diff. Its kind is come, gone, same, or file for the name of one.
type diffLine struct{ Kind, Text string }

// diffLines are those of a diff.
func diffLines(diff string) []diffLine {
	var out []diffLine
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		kind := "same"
		switch {
		case strings.HasPrefix(line, "+"):
			kind = "come"
		case strings.HasPrefix(line, "-"):
			kind = "gone"
		case !strings.HasPrefix(line, " "):
			kind = "file"
		}
		out = append(out, diffLine{kind, line})
	}
	return out
}
