package forge

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

var small = bounds{longest: 10 * chunk, large: 2 * chunk, room: 4 * chunk}

// random returns so many bytes, always the same.
func random(n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(data)
	return data
}

// TestRead gives back what came, of any length and in any pieces, and its sum.
func TestRead(t *testing.T) {
	in := newIntake(small)
	for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 10*chunk - 1, 10 * chunk} {
		data := random(size)
		for _, length := range []int64{int64(size), -1} {
			sum := sha256.New()
			b, err := in.read(iotest.HalfReader(bytes.NewReader(data)), length, sum)
			if err != nil {
				t.Fatalf("%d bytes declared as %d: %v", size, length, err)
			}
			if want := sha256.Sum256(data); !bytes.Equal(b.bytes(), data) || !bytes.Equal(sum.Sum(nil), want[:]) {
				t.Errorf("%d bytes declared as %d are others", size, length)
			}
			b.close()
			b.close()
			passed := sha256.New()
			if err := in.pass(bytes.NewReader(data), length, passed); err != nil || !bytes.Equal(passed.Sum(nil), sum.Sum(nil)) {
				t.Errorf("%d bytes passed on as %d: %v", size, length, err)
			}
		}
	}
	if now, peak := in.peaked(); now != 0 || peak != 11*chunk { // one for what may come after the longest
		t.Errorf("%d bytes are held, and at most were %d", now, peak)
	}
}

// TestTooLong is refused by its length, and where that is not told or is another,
// with the first byte too many.
func TestTooLong(t *testing.T) {
	in := newIntake(small)
	for _, length := range []int64{10*chunk + 1, -1} {
		r := bytes.NewReader(random(30 * chunk))
		if _, err := in.read(r, length, io.Discard); !errors.Is(err, errTooLong) {
			t.Errorf("declared as %d: %v", length, err)
		}
		if read := r.Size() - int64(r.Len()); read > 11*chunk || length > 0 && read > 0 {
			t.Errorf("declared as %d: %d bytes were read", length, read)
		}
		if err := in.pass(bytes.NewReader(random(30*chunk)), length, io.Discard); !errors.Is(err, errTooLong) {
			t.Errorf("declared as %d and passed on: %v", length, err)
		}
	}
	if now, peak := in.peaked(); now != 0 || peak > 11*chunk {
		t.Errorf("%d bytes are held, and at most were %d", now, peak)
	}
}

// TestFull: two large bodies are never held, and small ones find no room where
// others have it, until those are done.
func TestFull(t *testing.T) {
	in := newIntake(small)
	read := func(size, length int64) (*body, error) {
		return in.read(bytes.NewReader(random(int(size))), length, io.Discard)
	}
	large, err := read(3*chunk, 3*chunk)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int64{3 * chunk, -1} {
		if _, err := read(3*chunk, length); !errors.Is(err, errFull) {
			t.Errorf("another large body declared as %d: %v", length, err)
		}
	}
	one, err := read(2*chunk, 2*chunk)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(1, 1); !errors.Is(err, errFull) {
		t.Errorf("a small body without room: %v", err)
	}
	if err := in.pass(bytes.NewReader(nil), 1, io.Discard); !errors.Is(err, errFull) {
		t.Errorf("a body to pass on without room: %v", err)
	}
	one.close()
	large.close()
	for _, size := range []int64{1, 3 * chunk} {
		b, err := read(size, size)
		if err != nil {
			t.Fatalf("%d bytes when there is room again: %v", size, err)
		}
		b.close()
	}
	if now, peak := in.peaked(); now != 0 || peak > small.longest+small.room {
		t.Errorf("%d bytes are held, and at most were %d", now, peak)
	}
}

// TestCutOff gives back what it held.
func TestCutOff(t *testing.T) {
	in := newIntake(small)
	cut := errors.New("the connection is gone")
	for _, length := range []int64{5 * chunk, chunk, -1} {
		r := io.MultiReader(bytes.NewReader(random(chunk/2)), iotest.ErrReader(cut))
		if _, err := in.read(r, length, io.Discard); !errors.Is(err, cut) {
			t.Errorf("declared as %d: %v", length, err)
		}
	}
	if now, _ := in.peaked(); now != 0 {
		t.Errorf("%d bytes are held", now)
	}
	if b, err := in.read(bytes.NewReader(nil), 3*chunk, io.Discard); err != nil || len(b.bytes()) != 0 {
		t.Errorf("a large body afterwards: %v", err)
	}
}
