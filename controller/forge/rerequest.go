package forge

import "errors"

// A wireSuite is what check runs and the suites that they are in have in common.
type wireSuite struct {
	HeadSHA      string `json:"head_sha"`
	HeadBranch   string `json:"head_branch"`
	PullRequests []struct {
		Number int `json:"number"`
	} `json:"pull_requests"`
}

// rerequested reads which commit somebody wants to be checked anew, by one check
// run or by all of them.
func (w *wireHint) rerequested(hint Hint) (Hint, error) {
	suite := w.CheckSuite
	if run := w.CheckRun; run != nil {
		run.HeadBranch = run.Suite.HeadBranch
		suite = &run.wireSuite
	}
	if w.Action != "rerequested" || suite == nil {
		return Hint{}, errors.New("the check run asks for nothing")
	}
	hint.Rerequested = suite.HeadSHA
	if len(suite.PullRequests) > 0 {
		hint.Number = max(suite.PullRequests[0].Number, 0)
	}
	if checkRef("head_branch", suite.HeadBranch) == nil {
		hint.Branch = suite.HeadBranch
	}
	return hint, checkSHA("head_sha", hint.Rerequested)
}
