package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema/shape"
)

// TestStoredShapes holds that what is stored is what the CUE files say.
func TestStoredShapes(t *testing.T) {
	c, err := shape.New(sources)
	if err != nil {
		t.Fatal(err)
	}
	defs := c.Definitions()
	if got := len(Shapes()); got != len(defs) {
		t.Errorf("%d shapes are stored, want %d; go generate ./cmd/internal/pages writes them", got, len(defs))
	}
	for _, def := range defs {
		if diff := cmp.Diff(c.Shape(def), Shapes()[def]); diff != "" {
			t.Errorf("the stored shape of %s differs (-schema +stored); go generate ./cmd/internal/pages writes it:\n%s", def, diff)
		}
	}
}
