package maintenance

import (
	"context"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// Totals sum up a ledger.
type Totals struct {
	ledger.Counts
	// Judged and Reused count the cases of all stored runs; ReuseRate is the share of
	// reused ones, nil without cases.
	Judged    int      `json:"judged"`
	Reused    int      `json:"reused"`
	ReuseRate *float64 `json:"reuse_rate"`
	// Spent includes what Unreported runs spent, which have no report: they are in
	// progress, or were interrupted.
	Spent      Amount `json:"spent"`
	Unreported struct {
		Runs int `json:"runs"`
		Amount
	} `json:"unreported"`
	Saved    Amount    `json:"saved"`
	Accounts []Account `json:"accounts"`
}

// An Amount is the cost of calls, actual or saved.
type Amount struct {
	Calls int `json:"calls"`
	// USD is the cost of the runs whose prices are known; Unpriced counts the others.
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_runs"`
}

// An Account is the common spending of several runs.
type Account struct {
	Name   string  `json:"account"`
	Calls  int64   `json:"calls"`
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"cost_usd"`
}

func (x *Amount) add(calls int, usd *float64) {
	if calls == 0 {
		return
	}
	x.Calls += calls
	if usd == nil {
		x.Unpriced++
		return
	}
	x.USD += *usd
}

// addRun adds the known cost of a run.
func (x *Amount) addRun(run ledger.RunCost) {
	x.Calls, x.USD = x.Calls+int(run.Calls), x.USD+run.USD
	if run.Unpriced {
		x.Unpriced++
	}
}

// Total sums up the runs of a ledger.
func Total(ctx context.Context, store *ledger.Ledger) (Totals, error) {
	out := Totals{Accounts: []Account{}}
	err := store.EachReport(ctx, func(r ledger.Run) error {
		report, err := report.Decode(r.Report)
		if err != nil {
			return err
		}
		s := report.Summary
		out.Judged += s.Run + s.Rejudged + s.Redecided - s.NotRun
		out.Reused += s.Reused - s.NoVerdict
		out.Spent.add(s.Calls, s.CostUSD)
		out.Saved.add(report.Saved.Calls, report.Saved.CostUSD)
		return nil
	})
	if err != nil {
		return out, err
	}
	unreported, err := store.Unreported(ctx, "")
	if err != nil {
		return out, err
	}
	for _, u := range unreported {
		out.Unreported.Runs++
		out.Unreported.addRun(u.Cost)
		out.Spent.addRun(u.Cost)
	}
	if all := out.Judged + out.Reused; all > 0 {
		rate := float64(out.Reused) / float64(all)
		out.ReuseRate = &rate
	}
	accounts, err := store.Accounts(ctx)
	for _, a := range accounts {
		out.Accounts = append(out.Accounts, Account{a.Name, a.Calls, a.Tokens, a.USD})
	}
	if err != nil {
		return out, err
	}
	out.Counts, err = store.Counts(ctx)
	return out, err
}
