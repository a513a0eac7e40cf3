package gitrepo

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

// allocated is how many bytes something allocates in all.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestAbuseLargeBlobsTakeNoMemory fetches, compares and reads next to blobs of
// zeros: whole ones, and ones that are deltas to each other.
func TestAbuseLargeBlobsTakeNoMemory(t *testing.T) {
	const size = 64 << 20 // twice what may be allocated
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Run(t, dir, "config", "core.bigFileThreshold", "1g")
	base := gittest.Commit(t, dir, map[string]string{"a": "1"})
	head := gittest.Graft(t, dir, base, "100644 blob "+gittest.Zeros(t, dir, size)+"\tassets/one")
	head = gittest.Graft(t, dir, head, "100644 blob "+gittest.Zeros(t, dir, size+1)+"\tassets/two")
	head = gittest.Graft(t, dir, head, "100644 blob "+gittest.Blob(t, dir, strings.NewReader("2"))+"\ta")
	gittest.Run(t, dir, "update-ref", "refs/pull/7/head", head)
	for _, test := range []struct {
		name  string
		most  Bounds
		depth string
		want  string // part of the error
	}{
		{"head", OfHead, "0", ""},
		{"head by delta", OfHead, "50", fmt.Sprintf("a new object of %d bytes is stored as the difference to another one", size)},
		{"base", OfBase, "0", ""},
		{"base by delta", OfBase, "50", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			gittest.Run(t, dir, "repack", "-adfq", "--depth="+test.depth)
			m := newMirror(t, gittest.Backend(t, dir))
			took := allocated(func() {
				repo, commits, err := m.Fetch(t.Context(), test.most, pullRefs...)
				if over, refused := errors.AsType[*pack.ExcessError](err); refused && test.want != "" && strings.HasPrefix(over.Message, test.want[:20]) {
					return
				}
				if err != nil || test.want != "" {
					t.Errorf("Fetch = %v; want %q", err, test.want)
					return
				}
				defer repo.Close()
				if got, err := repo.Changed(t.Context(), commits[0], commits[1]); err != nil || fmt.Sprint(got) != "[a assets/one assets/two]" {
					t.Errorf("Changed = %v, %v", got, err)
				}
				files, err := repo.FS(commits[1])
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := files.ReadFile("a"); err != nil || string(data) != "2" {
					t.Errorf("a holds %q, %v", data, err)
				}
				if info, err := files.Stat("assets/two"); err != nil || info.Size() != size+1 {
					t.Errorf("assets/two is %v, %v", info, err)
				}
				if _, err := files.ReadFile("assets/two"); !errors.Is(err, errTooLarge) {
					t.Errorf("reading assets/two = %v, want that it is too large", err)
				}
			})
			if took > 32<<20 {
				t.Errorf("%d bytes were allocated, of which %d are of one blob", took, size)
			}
			left, err := filepath.Glob(filepath.Join(m.cfg.Dir, "objects/pack/tmp_*"))
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestAbuseADifferenceThatExpands fetches a pack of a few hundred bytes, with an object
// of 1.5 GiB. It is refused before any of it is made.
func TestAbuseADifferenceThatExpands(t *testing.T) {
	const pieces, size = 24576, 24576 << 16
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	base := gittest.Commit(t, dir, map[string]string{"a": "1"})
	small, large := gittest.Expanding(t, dir, pieces)
	head := gittest.Graft(t, dir, base, "100644 blob "+small+"\tassets/one")
	head = gittest.Graft(t, dir, head, "100644 blob "+large+"\tassets/two")
	gittest.Run(t, dir, "update-ref", "refs/pull/7/head", head)
	m := newMirror(t, gittest.Backend(t, dir))
	took := allocated(func() {
		_, _, err := m.Fetch(t.Context(), OfHead, pullRefs...)
		over, refused := errors.AsType[*pack.ExcessError](err)
		if want := fmt.Sprintf("a new object of %d bytes is stored as the difference to another one", size); !refused || !strings.HasPrefix(over.Message, want) {
			t.Errorf("Fetch = %v, want %q", err, want)
		}
	})
	if took > 32<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
	left, err := filepath.Glob(filepath.Join(m.cfg.Dir, "objects/pack/*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
