package settings

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

func TestMain(m *testing.M) {
	if cuefile.ServeChild() {
		return
	}
	os.Exit(m.Run())
}
