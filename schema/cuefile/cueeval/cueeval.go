// Package cueeval is the child's side of package cuefile: it evaluates the files. It also reads the
// shapes of the built-in schemas, which a generator stores. Only programs and tests that need the
// evaluator of CUE import it.
package cueeval

import "github.com/gavel-evals/gavel/schema/cuefile"

// ServeChild evaluates files until there are no more if [cuefile.Budget.Evaluate]
// started this process, and reports whether it did; the program then has to end.
func ServeChild() bool {
	var s server
	return cuefile.Serve(s.answer)
}

// A server is the child's memory between requests.
type server struct{ set *ruleSet }

// answer returns a [cuefile.Answer], or a [cuefile.RuleAnswer] to a request about
// constraints.
func (s *server) answer(r cuefile.Request) any {
	if r.Rules != nil {
		return s.rules(r.Rules)
	}
	return evaluate(r.Source)
}
