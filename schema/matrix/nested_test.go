package matrix_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAbuseVariablesWithinOthers: a text in which another one repeats what is around it
// takes no more memory than its bound. Each sign of the other would repeat 100 KB.
func TestAbuseVariablesWithinOthers(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, vars := range []map[string]string{
		{"a": long + "{{b}}", "b": strings.Repeat("$`", 20_000)},
		{"a": "{{b}}" + long, "b": strings.Repeat("$'", 20_000)},
	} {
		raw, err := json.Marshal(vars)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cases, problems := load(t, fmt.Sprintf("prompts: ['{{a}}']\ntests: [{description: x, vars: %s}]\n", raw), nil)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
			t.Errorf("%d MiB are allocated for %d cases with %d problems", taken>>20, len(cases), len(problems))
		}
	}
}
