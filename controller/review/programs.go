package review

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
)

// programs says which programs are run for a head that nobody has merged: those
// of base, or those of an approved head. A case is withheld where its programs, the definition that names
// them or a file that they are to read is not what base has. As a program may
// load more than it declares, even the others see base's files only.
func (r *Review) programs(ctx context.Context, p *controller.Prepared, e *controller.Execution) error {
	if r.merged || r.approved && r.approvable() {
		return nil
	}
	until := ""
	if r.approvable() {
		until = " until the head is approved"
	}
	changed, err := p.Changed(ctx, nil)
	if err != nil {
		return fmt.Errorf("compare %s with %s: %w", p.Base.Commit, p.Head.Commit, err)
	}
	p.Head.Programs = p.Base
	e.Withhold = func(row plan.Row) string {
		start, starts := p.Starts(row)
		if !starts {
			return ""
		}
		switch file, read := start.Changed(changed); {
		case file == "":
			return ""
		case read:
			return fmt.Sprintf("it has a program read %s, which is changed here: programs see base's files%s", file, until)
		default:
			return fmt.Sprintf("it starts a program, and %s is changed here: programs run as base has them%s", file, until)
		}
	}
	return nil
}
