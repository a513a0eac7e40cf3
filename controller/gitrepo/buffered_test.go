package gitrepo_test

import (
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// BenchmarkOpenedWithManyPacks looks a commit up in a repository that was fetched into 50
// times.
func BenchmarkOpenedWithManyPacks(b *testing.B) {
	dir := b.TempDir()
	gittest.Run(b, dir, "init", "-q")
	for i := range 50 {
		gittest.Commit(b, dir, map[string]string{"file": fmt.Sprint(i)})
		gittest.Run(b, dir, "repack", "-q", "-d")
	}
	for b.Loop() {
		r, err := gitrepo.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Resolve(b.Context(), "HEAD"); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
