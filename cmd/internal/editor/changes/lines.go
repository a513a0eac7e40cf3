package changes

import "strings"

// A Line is one of a diff. Its kind is come, gone, same, or file for the name of one.
type Line struct{ Kind, Text string }

// Lines are those of a diff.
func Lines(diff string) []Line {
	var out []Line
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
		out = append(out, Line{kind, line})
	}
	return out
}
