package evaluator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

func TestProgramsOf(t *testing.T) {
	program := func(name string) Program { return Program{Argv: []string{name}} }
	writer, last := program("writer"), program("last")
	inner := Composite{Members: []Member{{Spec: CodeJudge{Program: program("inner")}}}}
	for _, tt := range []struct {
		spec schema.Spec
		want []Program
	}{
		{Keyword{}, nil},
		{LLMJudge{Template: "x"}, nil},
		{LLMJudge{Program: &writer}, []Program{writer}},
		{CodeJudge{Program: last}, []Program{last}},
		{Composite{Members: []Member{{Spec: inner}, {Spec: Keyword{}}}, Program: &CodeJudge{Program: last}, Judge: &LLMJudge{Program: &writer}},
			[]Program{program("inner"), writer, last}},
	} {
		if diff := cmp.Diff(tt.want, ProgramsOf(tt.spec)); diff != "" {
			t.Errorf("%T (-want +got): %s", tt.spec, diff)
		}
	}
}
