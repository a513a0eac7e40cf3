package document

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

// TestStoredShapes holds that the stored shapes are complete and equal to the CUE
// files: CUE is not evaluated again.
func TestStoredShapes(t *testing.T) {
	c, err := cueeval.CompileSchemas(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	defs := c.Definitions()
	if got := len(Shapes()); got != len(defs) {
		t.Errorf("%d shapes are stored, want %d; go generate ./cmd/internal/pages writes them", got, len(defs))
	}
	for _, def := range defs {
		if !c.Shape(def).Complete() {
			t.Errorf("the shape of %s does not say all that the schema says", def)
		}
		if diff := cmp.Diff(c.Shape(def), Shapes()[def]); diff != "" {
			t.Errorf("the stored shape of %s differs (-schema +stored); go generate ./cmd/internal/pages writes it:\n%s", def, diff)
		}
	}
}
