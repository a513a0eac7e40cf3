package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSaid shows two lines of each text, without what moves the cursor, and quotes
// the key for a shell.
func TestSaid(t *testing.T) {
	var b strings.Builder
	if err := Said(&b, nil, Options{}); err != nil || b.Len() > 0 {
		t.Errorf("without failures it writes %q, %v", &b, err)
	}
	err := Said(&b, []LastReply{{"it's", "one\x1b[2J\ntwo"}, {"long", strings.Repeat("word ", 30)}}, Options{Width: 40})
	want := `
What the agent said last:
  it's
    one␛[2J two
  long
    word word word word word word word
    word word word word word word word…
gavel explain 'it'\''s' shows the rest
`
	if diff := cmp.Diff(want, b.String()); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
