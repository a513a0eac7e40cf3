package main

import (
	"context"
	"io"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// A listing computes something about planned cases from stored results, and prints it.
type listing[T any] struct {
	compute func(context.Context, *controller.Prepared, *ledger.Ledger) (T, error)
	text    func(io.Writer, T, terminal.Options) error
}

// of returns the use of a ledger that prints the listing of the cases that keys select.
func (l listing[T]) of(a *App, keys []string) Use {
	return func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		s := selection{}
		s.Keys = keys
		prepared, err := a.Local(ctx, w, store, s)
		if err != nil {
			return err
		}
		if err := a.PrintProblems(w.Files, prepared.Problems); err != nil {
			return err
		}
		list, err := l.compute(ctx, prepared, store)
		if err != nil {
			return err
		}
		list = controller.Redacted(prepared, list) // before texts are clipped
		if a.JSON {
			return a.Print(list)
		}
		return l.text(a.Stdout, list, terminal.OptionsFor(a.Stdout, a.LookupEnv))
	}
}
