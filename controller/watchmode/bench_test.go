package watchmode_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/watchmode"
)

// generated is a repository of n committed cases in ten domains of ten levels.
func generated(b *testing.B, n int) *repo {
	b.Helper()
	r := &repo{b, filepath.Join(b.TempDir(), "repo")}
	r.must(os.MkdirAll(r.dir, 0o755))
	r.git("init", "-q", "-b", "main")
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriter(out)
		out.CloseWithError(errors.Join(stream(w, n), w.Flush()))
	}()
	cmd := exec.CommandContext(b.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = r.dir, in
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git fast-import: %v\n%s", err, text)
	}
	r.git("reset", "-q", "--hard", "main")
	return r
}

// stream writes the commit for git fast-import.
func stream(w io.Writer, n int) error {
	file := func(name, text string) error {
		_, err := fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
		return err
	}
	_, err := fmt.Fprint(w, "commit refs/heads/main\ncommitter Gavel <gavel@localhost> 1700000000 +0000\ndata 3\nall\n")
	err = errors.Join(err, file("gavel.yaml", start["gavel.yaml"]))
	for d := range 10 {
		err = errors.Join(err, file(fmt.Sprintf("test_definitions/d%d/domain.json", d),
			fmt.Sprintf(`{"id": "d%d", "name": "D", "evaluator_id": "keyword", "system_prompt": "Be brief."}`, d)))
	}
	for i := range n {
		err = errors.Join(err, file(benchFile(i), benchTest(i, 0)))
	}
	return err
}

func benchFile(i int) string {
	return fmt.Sprintf("test_definitions/d%d/level_%d/t%d.json", i%10, 1+i/10%10, i)
}

func benchTest(i, version int) string {
	return fmt.Sprintf(`{"id": "t%d", "name": "Test %d", "prompt": "What is %d in version %d?", "expected": {"keywords": ["%d"]}}`, i, i, i, version, i)
}

// BenchmarkSaveToPlan is the time from the end of a save to the plan, with the
// 100 ms of rest that are waited for.
func BenchmarkSaveToPlan(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := generated(b, n)
			cfg := r.following(&source{repo: r, open: r.judged})
			cfg.Watch.Settle = 0 // the default
			tree, err := watchmode.Open(b.Context(), cfg)
			r.must(err)
			defer tree.Close()
			look, err := tree.Next(b.Context())
			r.must(err)
			r.must(look.Close())
			var took []time.Duration
			version := 0
			for b.Loop() {
				version++
				i := version * 7919 % n
				r.write(map[string]string{benchFile(i): benchTest(i, version)})
				saved := time.Now()
				look, err := tree.Next(b.Context())
				took = append(took, time.Since(saved))
				r.must(err)
				if !slices.Contains(look.Changed, benchFile(i)) || look.Prepared == nil {
					b.Fatalf("changed %v", look.Changed)
				}
				r.must(look.Close())
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
