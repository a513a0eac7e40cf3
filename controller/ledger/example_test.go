package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "gavel-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is an example's own folder
	store, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	err = store.SaveReport(ctx, ledger.Run{
		ID: "run-1", Head: "worktree", Started: began, Finished: began.Add(time.Minute), Report: []byte(`{"cases": []}`),
	})
	if err != nil {
		fmt.Println(err)
	}
	runs, err := store.Runs(ctx, 10)
	for _, r := range runs {
		fmt.Println(r.ID, r.Head, r.Finished.Sub(r.Started))
	}
	fmt.Println(err, store.Close())
	// Output:
	// run-1 worktree 1m0s
	// <nil> <nil>
}
