package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// report has n cases, one of which changed.
func report(n, changed int) []byte {
	var rows []map[string]any
	for i := range n {
		row := map[string]any{"key": fmt.Sprint("talk/", i), "text": `a "quoted" ] } , \ text`, "list": []any{1, []int{2}, map[string]int{"x": 3}}}
		if i == changed {
			row["text"] = "changed"
		}
		rows = append(rows, row)
	}
	data, err := json.Marshal(struct {
		Run   string           `json:"run"`
		Cases []map[string]any `json:"cases"`
		Gate  string           `json:"gate"`
	}{"r", rows, "pass"})
	if err != nil {
		panic(err)
	}
	return data
}

// TestOf: reports are whole again, byte for byte, and those that differ in a
// case differ in a piece.
func TestOf(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 129, 1000} {
		whole := report(n, -1)
		s := cutReport(whole)
		if len(s.Pieces) > 2+n/50 || len(s.Pieces) < n/300 || n > 0 && len(s.Pieces) == 0 {
			t.Errorf("%d cases are %d pieces", n, len(s.Pieces))
		}
		back, err := parseFrame(unpacked(t, s))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Pieces {
			data, err := inflate(deflate(p))
			if err != nil {
				t.Fatal(err)
			}
			back.Pieces = append(back.Pieces, data)
		}
		if !bytes.Equal(back.Join(), whole) {
			t.Errorf("%d cases: the report is another", n)
		}
	}
	// One case is another, and then one more comes first.
	a, b := cutReport(report(1000, -1)), cutReport(report(1000, 300))
	if n := news(a, b); n != 1 || !bytes.Equal(unpacked(t, a), unpacked(t, b)) {
		t.Errorf("%d of %d pieces differ", n, len(a.Pieces))
	}
	more := bytes.Replace(report(1000, -1), []byte(`"cases":[`), []byte(`"cases":[{"key":"a/new","x":1},`), 1)
	if n := news(a, cutReport(more)); n > 2 {
		t.Errorf("%d of %d pieces differ after one case was added", n, len(a.Pieces))
	}
}

// TestEachIsOf: cases that are handed on one by one make the pieces, and with the
// report around them the bytes, that the whole report has.
func TestEachIsOf(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 129, 3000} {
		whole := report(n, -1)
		var parsed struct{ Cases []json.RawMessage }
		if err := json.Unmarshal(whole, &parsed); err != nil {
			t.Fatal(err)
		}
		got, err := frameReport([]byte(`{"run":"r","cases":[],"gate":"pass"}`))
		if err != nil {
			t.Fatal(err)
		}
		cases := func(yield func([]byte, error) bool) {
			for _, c := range parsed.Cases {
				if !yield(c, nil) {
					return
				}
			}
		}
		err = eachPiece(cases, func(piece []byte) error {
			got.Pieces = append(got.Pieces, bytes.Clone(piece))
			return nil
		})
		if err != nil || n > 0 && !bytes.Equal(got.Join(), whole) {
			t.Errorf("%d cases: %v, and the report is another", n, err)
		}
		if want := cutReport(whole).Pieces; !slices.EqualFunc(got.Pieces, want, bytes.Equal) {
			t.Errorf("%d cases are %d other pieces, want %d", n, len(got.Pieces), len(want))
		}
	}
	if _, err := frameReport([]byte(`{"run":"r","cases":[{}]}`)); err == nil {
		t.Error("a list that is not empty is taken for one that is")
	}
	failed := errors.New("failed")
	err := eachPiece(func(yield func([]byte, error) bool) { yield(nil, failed) }, func([]byte) error { return nil })
	if !errors.Is(err, failed) {
		t.Errorf("the error of a case is %v, want %v", err, failed)
	}
}

// TestPiecesOfSimilarKeys counts the pieces of keys with a number, which people give to files
// and cases.
func TestPiecesOfSimilarKeys(t *testing.T) {
	for _, key := range []string{"test_definitions/%d#t%[1]d", "qa/%04d", "support/level_1/case_%03d", "math/%d/sum"} {
		const n = 10_000
		pieces := 0
		for i := range n {
			if endsPiece(fmt.Appendf(nil, `{"key":"`+key+`","x":1}`, i)) {
				pieces++
			}
		}
		if pieces < n/usualPiece/2 || pieces > n/usualPiece*2 {
			t.Errorf("%s: %d cases are %d pieces, want about %d", key, n, pieces, n/usualPiece)
		}
	}
}

// news counts the pieces of b that a does not have.
func news(a, b splitReport) (n int) {
	known := map[string]bool{}
	for _, p := range a.Pieces {
		known[string(p)] = true
	}
	for _, p := range b.Pieces {
		if !known[string(p)] {
			n++
		}
	}
	return n
}

// TestFrameOfProblems: problems that are handed on one by one make the bytes that a report
// with all of them has.
func TestFrameOfProblems(t *testing.T) {
	around, err := frameReport([]byte(`{"cases":[],"reason":"\"problems\":[]","problems":[],"gate":"pass"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 700} {
		elements := make([]string, n)
		for i := range elements {
			elements[i] = fmt.Sprintf("<%d>", i)
		}
		packed, err := around.packFrame(EncodeList(elements))
		if err != nil {
			t.Fatal(err)
		}
		frame, err := inflate(packed)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseFrame(frame)
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(elements)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(back.Join()), `{"cases":[],"reason":"\"problems\":[]","problems":`+string(all)+`,"gate":"pass"}`; got != want {
			t.Errorf("%d problems: the report is\n%.200s\nwant\n%.200s", n, got, want)
		}
	}
	if _, err := around.packFrame(EncodeList([]brittle{1, -1})); !errors.Is(err, errBrittle) {
		t.Errorf("a problem without JSON: %v, want %v", err, errBrittle)
	}
	none, err := frameReport([]byte(`{"cases":[],"problems":[{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.packFrame(EncodeList([]string{"a"})); err == nil {
		t.Error("a list that is not empty is taken for one that is")
	}
}

// unpacked returns what is stored of the frame of a report.
func unpacked(t *testing.T, s splitReport) []byte {
	t.Helper()
	packed, err := s.packFrame(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := inflate(packed)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// FuzzOf: whatever is stored as a report comes back.
func FuzzOf(f *testing.F) {
	for _, s := range []string{"", "{}", "null", `{"cases":[]}`, `{"cases":[1,2]}`, `{"cases":[`, `{"cases":["]`, `{"cases":[,]}`, `{"cases":[1]]`, `x"cases":[}],`, string(report(130, 3))} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := cutReport(data)
		back, err := parseFrame(unpacked(t, s))
		if err != nil {
			t.Fatal(err)
		}
		back.Pieces = s.Pieces
		if !bytes.Equal(back.Join(), data) {
			t.Errorf("%q came back as %q", data, back.Join())
		}
	})
}

func TestFramedRefuses(t *testing.T) {
	for _, frame := range []string{"", "x", "5\nabc", "-1\nabc", "abc\nabc"} {
		if s, err := parseFrame([]byte(frame)); err == nil {
			t.Errorf("%q is %+v", frame, s)
		}
	}
	if _, err := inflate([]byte(strings.Repeat("x", 10))); err == nil {
		t.Error("what was never packed was unpacked")
	}
}
