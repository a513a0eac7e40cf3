package editor

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}
