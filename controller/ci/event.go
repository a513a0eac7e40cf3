package ci

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
)

// The events that start a job for a branch without a push.
const (
	eventSchedule = "schedule"
	eventDispatch = "workflow_dispatch"
)

// Event reads the event of the job. A schedule, or a person who starts the workflow,
// judges the job's branch; the payload does not name the commit, but the environment
// does. The error is [forge.ReadEvent]'s, or names the missing or wrong variable.
func (e Environment) Event() (forge.Event, error) {
	path, name := e("GITHUB_EVENT_PATH"), e("GITHUB_EVENT_NAME")
	if name != eventSchedule && name != eventDispatch {
		return forge.ReadEvent(path, name)
	}
	ref := e("GITHUB_REF")
	main := strings.TrimPrefix(ref, "refs/heads/") // a schedule belongs to the default branch
	if name == eventDispatch {
		var err error
		if main, err = defaultBranch(path); err != nil {
			return forge.Event{}, err
		}
	}
	out, err := forge.TipEvent(e("GITHUB_REPOSITORY"), ref, e("GITHUB_SHA"), main)
	if err != nil {
		return out, fmt.Errorf("GITHUB_REPOSITORY, GITHUB_REF and GITHUB_SHA of the event %s: %w", name, err)
	}
	return out, nil
}

// defaultBranch returns the repository's default branch in a payload.
func defaultBranch(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read event: %w", err)
	}
	var payload struct {
		Repository struct {
			DefaultBranch string `json:"default_branch"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(data, &payload); err != nil {
		return "", fmt.Errorf("read event %s: decode: %w", path, err)
	}
	return payload.Repository.DefaultBranch, nil
}
