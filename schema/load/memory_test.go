package load

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
)

// TestAScanKeepsLittleOfACase measures the memory in use when the last of many
// cases is noted, and what the snapshot takes in the end.
func TestAScanKeepsLittleOfACase(t *testing.T) {
	const n, most = 4000, 700
	tests := map[string]string{"test_definitions/d/domain.json": `{"id": "d", "name": "D", "evaluator_id": "keyword", "system_prompt": "Be brief."}`}
	for i := range n {
		tests[fmt.Sprintf("test_definitions/d/level_%d/t%d.json", 1+i%10, i)] = fmt.Sprintf(
			`{"id": "t%d", "name": "Test %d", "prompt": "What is %d?", "expected": {"keywords": ["%d"]}, "weight": 1.5}`, i, i, i, i)
	}
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
	}{{"one dialect", fsOf(tests)}, {"all dialects", mixed(n)}} {
		t.Run(tt.name, func(t *testing.T) {
			// A first scan compiles patterns, which belong to no case.
			if _, err := Scan(t.Context(), tt.files, Options{Settings: settings}); err != nil {
				t.Fatal(err)
			}
			var noted atomic.Int64
			var peak int64
			before := inUse()
			s, err := Scan(t.Context(), tt.files, Options{Settings: settings, Note: func(*schema.Case) string {
				if noted.Add(1) == n {
					peak = inUse()
				}
				return "note"
			}})
			if err != nil || s.Totals().Cases != n {
				t.Fatal(err, s.Totals(), s.Problems())
			}
			if each := (peak - before) / n; each > most {
				t.Errorf("%d bytes a case are in use when all are compiled, want at most %d", each, most)
			}
			if each := (inUse() - before) / n; each > most {
				t.Errorf("the snapshot has %d bytes a case, want at most %d", each, most)
			}
			runtime.KeepAlive(s)
		})
	}
}

// inUse is how many bytes are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // pools give up what they hold at the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
