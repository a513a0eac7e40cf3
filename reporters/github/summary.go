package github

import (
	"errors"
	"fmt"
	"os"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// maxSummary is what GitHub shows of one step; a longer file is not shown at
// all.
const maxSummary = 1 << 20

// JobSummary appends text to the file at path, what GITHUB_STEP_SUMMARY names,
// rendered so that the file stays within 1 MiB.
func JobSummary(path string, text Text) (err error) {
	f, err := safefile.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("job summary: %w", cerr)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	body := text(maxSummary - int(info.Size()) - 2)
	if int(info.Size())+len(body)+2 > maxSummary {
		return errors.New("job summary: the report does not fit what is left of 1 MiB")
	}
	// An earlier part may end within a line, which would become one line with
	// ours.
	if info.Size() > 0 {
		body = "\n" + body
	}
	if _, err := f.WriteString(body + "\n"); err != nil {
		return fmt.Errorf("job summary: %w", err)
	}
	return nil
}
