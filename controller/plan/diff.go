package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Changes names the parts in which head differs from base, in the order of
// head's parts, those that are gone last. Where changed knows which files
// differ between the two sides, a reason names only such a file.
func Changes(base, head Digests, changed func(file string) bool) []Reason {
	old := map[string]Part{}
	for _, p := range base.Parts {
		old[p.Name] = p
	}
	var reasons []Reason
	for _, p := range head.Parts {
		was, there := old[p.Name]
		delete(old, p.Name)
		switch {
		case there && was.Digest == p.Digest:
		case !there:
			reasons = append(reasons, Reason{p.Name, blame(p.Files, changed), p.Name + " is new"})
		case was.Show != "" && p.Show != "" && was.Show != p.Show:
			files := slices.Concat(p.Files, was.Files)
			reasons = append(reasons, Reason{p.Name, blame(files, changed), fmt.Sprintf("%s %s → %s", p.Name, was.Show, p.Show)})
		default:
			files := slices.Concat(p.Files, was.Files)
			reasons = append(reasons, Reason{p.Name, blame(files, changed), p.Name + " changed"})
		}
	}
	for _, p := range base.Parts {
		if _, gone := old[p.Name]; gone {
			reasons = append(reasons, Reason{p.Name, blame(p.Files, changed), p.Name + " is gone"})
		}
	}
	return withoutEchoes(reasons)
}

// withoutEchoes leaves out that other lines of a recording answer a case, where
// the case asks something else: that is why they do.
func withoutEchoes(reasons []Reason) []Reason {
	echo := func(r Reason) bool { return strings.HasSuffix(r.Part, " recording") }
	rest := slices.DeleteFunc(slices.Clone(reasons), echo)
	if len(rest) == 0 {
		return reasons
	}
	return rest
}

// blame picks the file that a reason names: the last one that changed, since
// the nearest layer stands last, else the first candidate.
func blame(files []string, changed func(string) bool) string {
	if len(files) == 0 {
		return ""
	}
	if changed != nil {
		for _, f := range slices.Backward(files) {
			if changed(f) {
				return f
			}
		}
	}
	return files[0]
}

// Summarise joins the reasons of a row to one line.
func Summarise(reasons []Reason) string {
	seen := make([]string, 0, len(reasons))
	for _, r := range reasons {
		text := r.Message
		if r.File != "" {
			text += " in " + r.File
		}
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; ")
}
