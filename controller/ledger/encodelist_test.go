package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// A brittle element has no JSON if it is negative.
type brittle int

var errBrittle = errors.New("brittle")

func (b brittle) MarshalJSON() ([]byte, error) {
	if b < 0 {
		return nil, errBrittle
	}
	return json.Marshal(int(b))
}

// TestEncoded: elements come in their order, up to the first that has no JSON, and
// no further than the caller wants. A sequence can be read again.
func TestEncoded(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 3000} {
		elements := make([]brittle, n)
		for i := range elements {
			elements[i] = brittle(i)
		}
		list := EncodeList(elements)
		for _, time := range []string{"first", "second"} {
			i := 0
			for text, err := range list {
				if err != nil || string(text) != fmt.Sprint(i) {
					t.Fatalf("element %d of %d is %s, %v", i, n, text, err)
				}
				i++
			}
			if i != n {
				t.Errorf("%d of %d elements at the %s reading", i, n, time)
			}
		}
	}
	elements := make([]brittle, 2000)
	elements[700] = -1
	n := 0
	var failed error
	for _, err := range EncodeList(elements) {
		if n++; err != nil {
			failed = err
		}
	}
	if n != 701 || !errors.Is(failed, errBrittle) {
		t.Errorf("%d elements with the error %v, want 700 and then the error", n, failed)
	}
	for range EncodeList(elements) {
		if n++; n == 800 {
			break
		}
	}
	if n != 800 {
		t.Errorf("%d elements after the caller stopped, want 800", n)
	}
}
