//go:build unix

package serve_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAbuseTwoServers lets one server at a time have a ledger.
func TestAbuseTwoServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "ledger.db")
	release, err := serve.Lock(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Lock(file); !errors.Is(err, serve.ErrLocked) {
		t.Errorf("the second server gets %v", err)
	}
	if other, err := serve.Lock(filepath.Join(filepath.Dir(file), "other.db")); err != nil {
		t.Errorf("another ledger: %v", err)
	} else if err := other(); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := serve.Lock(file)
	if err != nil {
		t.Fatalf("after the first is gone: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}
