package uicmd

import (
	"context"
	"io/fs"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/cmd/internal/settings"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// A forecast plans files that are not written.
type forecast struct {
	app  *cli.App
	w    *cli.Workspace
	book *ledger.Ledger
}

// mostNamed is how many cases a forecast names.
const mostNamed = 50

// of says which cases are judged in another way with the files after a change, and what
// judging these costs. It is nil where the configuration has errors.
func (f forecast) of(ctx context.Context, before, after fs.FS) (*settings.Forecast, error) {
	old, err := f.plan(ctx, before, nil)
	if old == nil || err != nil {
		return nil, err
	}
	now, err := f.plan(ctx, after, nil)
	if now == nil || err != nil {
		return nil, err
	}
	type id struct{ key, target string }
	was := map[id]plan.Digests{}
	for _, row := range old.Plan.Rows {
		was[id{row.Key, row.Target}] = row.HeadDigests
	}
	out, affected := &settings.Forecast{}, map[string]bool{}
	for _, row := range now.Plan.Rows {
		known, ok := was[id{row.Key, row.Target}]
		if ok && known.D == row.HeadDigests.D || row.Action == plan.Reuse || row.Action == plan.Skip {
			continue
		}
		affected[row.Key] = true
		switch why := "new"; {
		case len(out.Cases) == mostNamed:
			out.Cases = append(out.Cases, "and more")
		case len(out.Cases) < mostNamed:
			if ok {
				why = "changed"
			}
			out.Cases = append(out.Cases, row.Key+": "+string(row.Action)+", "+why)
		}
	}
	if len(affected) == 0 {
		return out, nil
	}
	due, err := f.plan(ctx, after, func(c *schema.CaseInfo) bool { return affected[c.Key] })
	if due == nil || err != nil {
		return nil, err
	}
	out.Estimate = due.Estimate().String()
	return out, nil
}

// plan is nil where the configuration has errors.
func (f forecast) plan(ctx context.Context, files fs.FS, selected func(*schema.CaseInfo) bool) (*controller.Prepared, error) {
	cfg, problems, _, err := f.app.ReadConfig(files)
	if err != nil || schema.HasErrors(problems) {
		return nil, err
	}
	return controller.Prepare(ctx, controller.Request{
		Head:       controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg, Dir: f.w.Repo.Root()},
		ConfigFile: f.app.ConfigFile, Ledger: f.book, LookupEnv: f.app.LookupEnv, Select: selected,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
	})
}
