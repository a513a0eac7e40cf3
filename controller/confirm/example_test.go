package confirm_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func ExampleNew() {
	pass, fail := confirm.Outcome{Verdict: verdict.Pass}, confirm.Outcome{Verdict: verdict.Fail}
	p := confirm.New([]confirm.Case{
		{Base: []confirm.Outcome{pass}, Fresh: true, Head: fail, Weight: 1}, // is broken now
		{Base: []confirm.Outcome{pass}, Fresh: true, Head: pass, Weight: 1}, // is as it was
	}, confirm.Options{Budget: -1})
	for batch := range p.Batches() {
		for _, r := range batch {
			if r.Case == 0 && r.Side == confirm.Head {
				p.Record(r, fail)
				continue
			}
			p.Record(r, pass)
		}
	}
	for _, f := range p.Result().Findings {
		fmt.Println(f.Class, f.Confirmed)
	}
	// Output:
	// regression true
	// unchanged false
}
