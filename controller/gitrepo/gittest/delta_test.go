package gittest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestExpanding makes git itself read the object that was stored by hand.
func TestExpanding(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	const pieces = 160
	_, hash := gittest.Expanding(t, dir, pieces)
	if got := gittest.Run(t, dir, "cat-file", "blob", hash); got != strings.Repeat("x", pieces<<16) {
		t.Errorf("git reads a blob of %d bytes", len(got))
	}
	gittest.Run(t, dir, "fsck", "--strict")
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs are %v, %v", packs, err)
	}
	if got := gittest.Run(t, dir, "verify-pack", "-v", packs[0]); !strings.Contains(got, "chain length = 1: 1 object") {
		t.Errorf("there is no delta:\n%s", got)
	}
	if info, err := os.Stat(packs[0]); err != nil || info.Size() > 4<<10 {
		t.Errorf("the pack is %v, %v", info, err)
	}
}
