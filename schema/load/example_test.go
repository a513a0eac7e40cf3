package load_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

func ExampleLoad() {
	files := fstest.MapFS{
		"test_definitions/math/domain.json":            {Data: []byte(`{"id": "math", "name": "Math", "evaluator_id": "keyword"}`)},
		"test_definitions/math/level_1/test_sum.json":  {Data: []byte(`{"id": "sum", "name": "Sum", "prompt": "1 + 1?", "expected": {"keywords": ["2"]}}`)},
		"test_definitions/math/level_1/test_half.json": {Data: []byte(`{"id": "half",`)},
	}
	result, err := load.Load(context.Background(), files, load.Options{
		Settings: schema.Settings{Definitions: []string{"test_definitions"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Cases {
		fmt.Println(c.Dialect, c.Key)
	}
	for _, p := range result.Problems {
		fmt.Println(p.File, p.Severity)
	}
	// Output:
	// domain math/level_1/test_sum
	// test_definitions/math/level_1/test_half.json error
}
