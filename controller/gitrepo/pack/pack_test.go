package pack

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

var roomy = Bounds{Bytes: 1 << 40, Inflated: 1 << 40, Object: 1 << 40, Listed: 1 << 30, Delta: 1 << 40, Objects: 1 << 30, Depth: 4095}

// store returns a pack to a Writer in a folder of its own.
func store(t *testing.T, data io.Reader, most Bounds) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	w, err := Create(t.Context(), dir, most)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(w, data)
	return dir, errors.Join(err, w.Close())
}

// names lists a folder.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestIndexIsGits holds the index of packs that git made, with many deltas upon
// deltas and large objects, against the one that git makes.
func TestIndexIsGits(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte('a' + random.IntN(26))
		}
		return string(text)
	}
	small, large := noise(2000), noise(3<<20)
	for i := range 40 {
		at := random.IntN(1500)
		small = small[:at] + fmt.Sprint("change ", i) + small[at:]
		at = random.IntN(2 << 20)
		large = large[:at] + fmt.Sprint("change ", i) + large[at:]
		files := map[string]string{"a": small, fmt.Sprintf("d/%d", i): noise(100), "empty": ""}
		if i%8 == 0 {
			files["large"] = large
		}
		gittest.Commit(t, dir, files)
	}
	gittest.Run(t, dir, "tag", "-a", "-m", "tag", "v1")
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"offsets", []string{"-c", "pack.depth=50", "repack", "-adfq", "--depth=50", "--window=50"}},
		{"names", []string{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=30", "--window=30"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gittest.Run(t, dir, tt.args...)
			packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatal(packs, err)
			}
			data, err := os.ReadFile(packs[0])
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(packs[0], ".pack") + ".idx")
			if err != nil {
				t.Fatal(err)
			}
			into, err := store(t, bytes.NewReader(data), roomy)
			if err != nil {
				t.Fatal(err)
			}
			stem := strings.TrimSuffix(filepath.Base(packs[0]), ".pack")
			if got := names(t, into); fmt.Sprint(got) != fmt.Sprintf("[%[1]s.idx %[1]s.pack]", stem) {
				t.Errorf("the folder has %v", got)
			}
			got, err := os.ReadFile(filepath.Join(into, stem+".idx"))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("the index differs from git's: %d bytes, %d of git's, %v", len(got), len(want), err)
			}
			kept, err := os.ReadFile(filepath.Join(into, stem+".pack"))
			if err != nil || !bytes.Equal(kept, data) {
				t.Errorf("the pack differs from what was written: %v", err)
			}
		})
	}
}

// A maker makes a pack by hand.
type maker struct {
	bytes.Buffer
	count uint32
	step  int64 // that a delta copies at once; 0 for as much as it can
}

// add adds an object and returns its place. head is the part of a delta before its
// bytes.
func (m *maker) add(kind plumbing.ObjectType, size int64, head []byte, data io.Reader) int {
	at := 12 + m.Len()
	m.count++
	c := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		m.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	m.WriteByte(c)
	m.Write(head)
	z := zlib.NewWriter(&m.Buffer)
	_, err := io.Copy(z, data)
	if err := errors.Join(err, z.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return at
}

func (m *maker) zeros(kind plumbing.ObjectType, n int64) int {
	return m.add(kind, n, nil, io.LimitReader(zeros{}, n))
}

// delta adds one to an object, which copies it often enough for so many bytes.
func (m *maker) delta(base int, was, size int64) int {
	var text []byte
	for _, n := range []int64{was, size} {
		for ; n >= 0x80; n >>= 7 {
			text = append(text, byte(n)|0x80)
		}
		text = append(text, byte(n))
	}
	for left := size; left > 0; {
		n := min(left, was, cmp.Or(m.step, 0xffffff))
		text = append(text, 0xf0, byte(n), byte(n>>8), byte(n>>16))
		left -= n
	}
	back := 12 + m.Len() - base
	head := []byte{byte(back & 0x7f)}
	for back >>= 7; back > 0; back >>= 7 {
		back--
		head = append([]byte{byte(back&0x7f) | 0x80}, head...)
	}
	return m.add(plumbing.OFSDeltaObject, int64(len(text)), head, bytes.NewReader(text))
}

// pack returns the bytes.
func (m *maker) pack() []byte {
	all := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), m.count)
	all = append(all, m.Bytes()...)
	sum := sha1.Sum(all)
	return append(all, sum[:]...)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestAbuseSmallPacksThatExpand has packs that are small and come to more than they may:
// each is refused by the bound that it passes, and nothing is left of it.
func TestAbuseSmallPacksThatExpand(t *testing.T) {
	most := Bounds{Bytes: 1 << 20, Inflated: 16 << 20, Object: 8 << 20, Listed: 1 << 20, Delta: 4 << 20, Objects: 1000, Depth: 10}
	for _, test := range []struct {
		name, want string
		make       func(m *maker)
	}{
		{"object", "a new object has 8388609 bytes; the bound is 8388608", func(m *maker) { m.zeros(plumbing.BlobObject, 8<<20+1) }},
		{"all", "more bytes than may be unpacked; the bound is 16777216", func(m *maker) {
			for range 3 {
				m.zeros(plumbing.BlobObject, 7<<20)
			}
		}},
		{"folder", "a new tree has 1048577 bytes; the bound is 1048576", func(m *maker) { m.zeros(plumbing.TreeObject, 1<<20+1) }},
		{"commit", "a new commit has 1048577 bytes; the bound is 1048576", func(m *maker) { m.zeros(plumbing.CommitObject, 1<<20+1) }},
		{"folder by a delta", "a new tree has 2097152 bytes; the bound is 1048576", func(m *maker) {
			m.delta(m.zeros(plumbing.TreeObject, 1<<10), 1<<10, 2<<20)
		}},
		{"delta", "a new object of 5242880 bytes is stored as the difference", func(m *maker) {
			m.delta(m.zeros(plumbing.BlobObject, 1<<10), 1<<10, 5<<20)
		}},
		{"base of a delta", "a new object of 5242880 bytes is stored as the difference", func(m *maker) {
			m.delta(m.zeros(plumbing.BlobObject, 5<<20), 5<<20, 1<<10)
		}},
		{"deltas upon deltas", "11 new objects are each stored as the difference to the one before; the bound is 10", func(m *maker) {
			at := m.zeros(plumbing.BlobObject, 1<<10)
			for range 11 {
				at = m.delta(at, 1<<10, 1<<10)
			}
		}},
		{"bytes of deltas", "stored as differences of", func(m *maker) {
			m.step = 1
			at := m.zeros(plumbing.BlobObject, 400_000)
			for range 3 { // each copies every byte by an instruction of its own
				at = m.delta(at, 400_000, 400_000)
			}
		}},
		{"objects", "1001 objects are new; the bound is 1000", func(m *maker) {
			for range 1001 {
				m.zeros(plumbing.BlobObject, 1)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &maker{}
			test.make(m)
			data := m.pack()
			if _, err := store(t, bytes.NewReader(data), roomy); err != nil {
				t.Fatalf("it is not a pack: %v", err)
			}
			dir, err := store(t, bytes.NewReader(data), most)
			over, ok := errors.AsType[*ExcessError](err)
			if !ok || !strings.Contains(over.Message, test.want) || over.Hint == "" {
				t.Errorf("%v; want %s", err, test.want)
			}
			if left := names(t, dir); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
	t.Run("bytes", func(t *testing.T) {
		dir, err := store(t, io.LimitReader(zeros{}, 2<<20), most)
		if over, ok := errors.AsType[*ExcessError](err); !ok || !strings.Contains(over.Message, "the bound is 1048576") {
			t.Errorf("%v; want the bound of bytes", err)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestMalformed: data that is not a pack is refused, whatever it is.
func TestMalformed(t *testing.T) {
	m := &maker{}
	m.delta(m.zeros(plumbing.BlobObject, 1<<10), 1<<10, 1<<11)
	m.zeros(plumbing.TreeObject, 0)
	good := m.pack()
	if _, err := store(t, bytes.NewReader(good), roomy); err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{"text": []byte("this is not a pack at all")}
	for n := 1; n < len(good); n += 3 {
		bad[fmt.Sprint("cut to ", n)] = good[:n]
		broken := bytes.Clone(good)
		broken[n] ^= 0x55
		bad[fmt.Sprint("broken at ", n)] = broken
	}
	thin := &maker{}
	thin.add(plumbing.REFDeltaObject, 5, make([]byte, 20), strings.NewReader("\x01\x02\x02ab"))
	bad["thin"] = thin.pack()
	other := &maker{}
	other.delta(other.zeros(plumbing.BlobObject, 10), 11, 5)
	bad["delta to another size"] = other.pack()
	for name, data := range bad {
		dir, err := store(t, bytes.NewReader(data), roomy)
		if !errors.Is(err, ErrMalformed) && !errors.As(err, new(*ExcessError)) {
			t.Errorf("%s: %v; want %v", name, err, ErrMalformed)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
	if dir, err := store(t, strings.NewReader(""), roomy); err != nil || len(names(t, dir)) > 0 {
		t.Errorf("nothing at all: %v, %v", names(t, dir), err)
	}
}

// TestTheMakingEndsWithTheFetch: a context that ended ends the index, too.
func TestTheMakingEndsWithTheFetch(t *testing.T) {
	m := &maker{}
	m.zeros(plumbing.BlobObject, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := Create(ctx, t.TempDir(), roomy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(m.pack()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := w.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("Close = %v, want %v", err, context.Canceled)
	}
}
