package ci

import (
	"cmp"

	"github.com/gavel-evals/gavel/controller/forge"
)

// An Environment returns the variables of a job.
type Environment func(name string) string

// Scheduled reports whether the job was started by a schedule.
func (e Environment) Scheduled() bool { return e("GITHUB_EVENT_NAME") == eventSchedule }

// WebURL returns the root of the forge's pages.
func (e Environment) WebURL() string { return cmp.Or(e("GITHUB_SERVER_URL"), "https://github.com") }

// Login returns the account of a job's token, which cannot look it up; empty outside of
// a job.
func (e Environment) Login() string {
	if e("GITHUB_ACTIONS") == "true" {
		return "github-actions[bot]"
	}
	return ""
}

// RunURL returns the page of the job, empty outside of one.
func (e Environment) RunURL(repo forge.Repo) string {
	server, run := e("GITHUB_SERVER_URL"), e("GITHUB_RUN_ID")
	if server == "" || run == "" {
		return ""
	}
	return server + "/" + repo.String() + "/actions/runs/" + run
}

// ReportURL returns the page with the job's artifacts, empty outside of a job.
func (e Environment) ReportURL(repo forge.Repo) string {
	if run := e.RunURL(repo); run != "" {
		return run + "#artifacts"
	}
	return ""
}
