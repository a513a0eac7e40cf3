package ci

import (
	"cmp"

	"github.com/gavel-evals/gavel/controller/forge"
)

// An Environment returns the variables of a job.
type Environment func(name string) string

// WebURL is the root of the forge's pages.
func (e Environment) WebURL() string { return cmp.Or(e("GITHUB_SERVER_URL"), "https://github.com") }

// Login is who the token of a job writes as, since it cannot ask; empty outside
// of one.
func (e Environment) Login() string {
	if e("GITHUB_ACTIONS") == "true" {
		return "github-actions[bot]"
	}
	return ""
}

// RunURL is the page of the job, empty outside of one.
func (e Environment) RunURL(repo forge.Repo) string {
	server, run := e("GITHUB_SERVER_URL"), e("GITHUB_RUN_ID")
	if server == "" || run == "" {
		return ""
	}
	return server + "/" + repo.String() + "/actions/runs/" + run
}

// ReportURL is where the job keeps its files for people, empty outside of a job.
func (e Environment) ReportURL(repo forge.Repo) string {
	if run := e.RunURL(repo); run != "" {
		return run + "#artifacts"
	}
	return ""
}
