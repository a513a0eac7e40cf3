package packed

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsWhatWasWritten(t *testing.T) {
	var w Writer
	w.Number(0)
	w.Number(math.MaxInt32)
	w.Fixed(math.MaxUint64)
	w.Text("über")
	w.Texts(nil)
	w.Texts([]string{"a", ""})
	r := Reader{Rest: string(w.Bytes)}
	if a, b, c := r.Number(), r.Number(), r.Fixed(); a != 0 || b != math.MaxInt32 || c != math.MaxUint64 {
		t.Errorf("numbers %d, %d and %d, want 0, %d and %d", a, b, c, math.MaxInt32, uint64(math.MaxUint64))
	}
	got := [][]string{{r.Text()}, r.Texts(), r.Texts()}
	if diff := cmp.Diff([][]string{{"über"}, nil, {"a", ""}}, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if r.Bad || r.Rest != "" {
		t.Errorf("bad %v with %q left, want all of it read", r.Bad, r.Rest)
	}
}

// FuzzReader holds that damaged bytes neither panic nor make a reader allocate
// more than they are.
func FuzzReader(f *testing.F) {
	f.Add("")
	f.Add("\xff\xff\xff\xff\xff\xff")
	f.Add("\x05ab")
	f.Add("\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, text string) {
		r := Reader{Rest: text}
		if list := r.Texts(); len(list) > len(text) {
			t.Errorf("%d texts were read from %d bytes", len(list), len(text))
		}
		r.Fixed()
		if n := r.Number(); r.Bad && n != 0 {
			t.Errorf("the number is %d behind damaged bytes, want 0", n)
		}
	})
}
