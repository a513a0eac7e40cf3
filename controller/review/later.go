package review

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
)

// afterMerge describes what head's configuration changes of what targets are told
// and offered, where that of base decides: such a change is not tested by the pull
// request that makes it.
func afterMerge(base, head *config.Config) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(head.Targets)) {
		is := head.Targets[name]
		was, known := base.Targets[name]
		if !known {
			continue
		}
		switch a, b := was.SystemPrompt, is.SystemPrompt; {
		case a.Text != b.Text && b.Text != "":
			out = append(out, fmt.Sprintf("changes the system prompt of the target %s, which takes effect after the merge; "+
				"write it into a file and name that with system_prompt: {file: …}: then a pull request tests the prompt that it edits", name))
		case a.Text != b.Text || a.File != b.File:
			out = append(out, fmt.Sprintf("changes where the system prompt of the target %s comes from, which takes effect after the merge; "+
				"edits of the file that base names are tested here", name))
		}
		if !slices.Equal(was.Tools, is.Tools) {
			out = append(out, fmt.Sprintf("changes the tools of the target %s, which takes effect after the merge; "+
				"edits of the files of its tools are tested here", name))
		}
	}
	return out
}
