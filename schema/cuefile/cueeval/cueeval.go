// Package cueeval is the other end of package cuefile: it evaluates the files, in the
// child. Only programs and tests that serve children have the evaluator of CUE in them.
package cueeval

import "github.com/gavel-evals/gavel/schema/cuefile"

// ServeChild evaluates files until there are no more if this process was started by
// [cuefile.Budget.Evaluate], and reports whether it was; the program then has to end.
func ServeChild() bool {
	var s server
	return cuefile.Serve(s.answer)
}

// A server is what the child remembers from one request to the next.
type server struct{ set *ruleSet }

// answer returns a [cuefile.Answer], or a [cuefile.RuleAnswer] to a request about
// constraints.
func (s *server) answer(r cuefile.Request) any {
	if r.Rules != nil {
		return s.rules(r.Rules)
	}
	return evaluate(r.Source)
}
