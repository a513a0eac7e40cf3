package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A wireRule is a rule of GitHub that applies to a branch.
type wireRule struct {
	Type       string `json:"type"`
	Parameters struct {
		Operator string `json:"operator"`
		Pattern  string `json:"pattern"`
		Negate   bool   `json:"negate"`
	} `json:"parameters"`
}

// A wireProtection is a rule of Gitea and Forgejo for the branches of a pattern.
type wireProtection struct {
	Rule       string `json:"rule_name"`
	Branch     string `json:"branch_name"` // of versions without rule_name
	EnablePush bool   `json:"enable_push"`
	Listed     bool   `json:"enable_push_whitelist"`
}

// NewBranch returns the rule of a repository that may refuse a new branch of this name
// with a new commit, and the repair. It returns nil if no rule does, and if the forge
// does not show its rules to the credential.
func (c *Client) NewBranch(ctx context.Context, repo Repo, branch string) error {
	if err := errors.Join(repo.check(), checkRef("branch", branch)); err != nil {
		return err
	}
	at := fmt.Sprintf("repos/%s/%s/", repo.Owner, repo.Name)
	if isGitea(c.transport.base) {
		var rules []wireProtection
		if err := c.get(ctx, at+"branch_protections", &rules); err != nil {
			return hidden("read the protected branches of "+repo.String(), err)
		}
		return refusedByGitea(rules, branch)
	}
	var rules []wireRule
	if err := c.get(ctx, at+"rules/branches/"+branch+"?per_page=100", &rules); err != nil {
		return hidden("read the rules for branches of "+repo.String(), err)
	}
	return refusedByGitHub(rules, branch)
}

// hidden returns nil if an error is an answer by which rules are not shown: versions
// before rules do not know the address.
func hidden(operation string, err error) error {
	err = Explain(operation, "metadata: read", err)
	denied, ok := errors.AsType[*DeniedError](err)
	if ok && (denied.Status == http.StatusForbidden || denied.Status == http.StatusNotFound) {
		return nil
	}
	return err
}

func refusedByGitea(rules []wireProtection, branch string) error {
	for _, rule := range rules {
		pattern := rule.Rule
		if pattern == "" {
			pattern = rule.Branch
		}
		switch {
		case !wildcard.Match(pattern, branch):
		case !rule.EnablePush:
			return fmt.Errorf("the protected branch %q lets nobody push %s: narrow its pattern", pattern, branch)
		case rule.Listed:
			return fmt.Errorf("the protected branch %q lets only listed accounts push %s: add the account of the token there, or narrow its pattern", pattern, branch)
		}
	}
	return nil
}

func refusedByGitHub(rules []wireRule, branch string) error {
	for _, rule := range rules {
		what := ""
		switch rule.Type {
		case "creation":
			what = "restricts the creation of"
		case "pull_request":
			what = "requires a pull request before a push to"
		case "required_signatures":
			what = "requires signed commits, and Gavel signs none, in"
		case "branch_name_pattern":
			if rule.allows(branch) {
				continue
			}
			what = fmt.Sprintf("has the pattern %q for names, which does not allow", rule.Parameters.Pattern)
		default:
			continue
		}
		return fmt.Errorf("a ruleset %s branches such as %s: exclude gavel/** from it, or put the credential's App or account on its bypass list", what, branch)
	}
	return nil
}

// allows reports whether a pattern for names allows a branch.
func (r wireRule) allows(branch string) bool {
	p := r.Parameters
	matched := false
	switch p.Operator {
	case "starts_with":
		matched = strings.HasPrefix(branch, p.Pattern)
	case "ends_with":
		matched = strings.HasSuffix(branch, p.Pattern)
	case "contains":
		matched = strings.Contains(branch, p.Pattern)
	case "regex":
		re, err := regexp.Compile(p.Pattern)
		if err != nil {
			return true // nobody knows here what it matches
		}
		matched = re.MatchString(branch)
	default:
		return true
	}
	return matched != p.Negate
}
