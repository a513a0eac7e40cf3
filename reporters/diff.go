package reporters

import (
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// maxLines bounds the prompts that are compared line by line; longer ones are shown
	// as one removal and one addition.
	maxLines = 400
	// maxShown bounds the lines of a diff, maxLine the characters of one.
	maxShown, maxLine = 60, 300
	// near is the number of unchanged lines shown next to changed ones.
	near = 2
)

func lines(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(textfmt.Clean(text), "\n"), "\n")
}

// diff marks removed lines with a minus and added ones with a plus, by a longest common
// subsequence.
func diff(before, after []string) []string {
	if len(before) > maxLines || len(after) > maxLines {
		return cut(append(marked("- ", before), marked("+ ", after)...))
	}
	common := commonLengths(before, after)
	var out []string
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			out = append(out, "  "+before[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+before[i])
			i++
		default:
			out = append(out, "+ "+after[j])
			j++
		}
	}
	out = append(append(out, marked("- ", before[i:])...), marked("+ ", after[j:])...)
	return cut(folded(out))
}

// commonLengths returns at [i][j] the length of the longest common subsequence of
// before from i and after from j on.
func commonLengths(before, after []string) [][]int {
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}

func marked(mark string, list []string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = mark + l
	}
	return out
}

// folded omits unchanged lines, except next to a change.
func folded(all []string) []string {
	shown := make([]bool, len(all))
	for i, l := range all {
		if l[0] == ' ' {
			continue
		}
		for k := max(0, i-near); k <= min(len(all)-1, i+near); k++ {
			shown[k] = true
		}
	}
	var out []string
	for i, l := range all {
		switch {
		case shown[i]:
			out = append(out, l)
		case i == 0 || shown[i-1]:
			out = append(out, "  …")
		}
	}
	return out
}

// cut bounds the shown lines.
func cut(all []string) []string {
	if len(all) > maxShown {
		all = append(all[:maxShown:maxShown], "  …")
	}
	for i, l := range all {
		all[i] = textfmt.Clip(l, maxLine)
	}
	return all
}

// fenced returns a Markdown block of code with a fence that none of its lines can end.
func fenced(all []string) string {
	body, fence := strings.Join(all, "\n"), "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	return fence + "diff\n" + body + "\n" + fence + "\n"
}

// DiffLines marks removed lines of a text with a minus and added ones with a plus,
// between some unchanged ones.
func DiffLines(before, after string) []string { return diff(lines(before), lines(after)) }
