package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/gavel-evals/gavel/schema/packed"
)

// Equal compares environments except for their functions, which are the same for all of
// them.
func (e Environment) Equal(other Environment) bool {
	e.Roots, other.Roots = nil, nil
	return reflect.DeepEqual(e, other)
}

// Digest returns the hex SHA-256 of the fields that Equal compares, for notes that are
// valid in one environment.
func (e *Environment) Digest() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("describe the environment: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// noteDigests is the number of bytes of the three digests in a note. The steered flag
// and then the number of samples as a varint follow.
const noteDigests = 3 * sha256.Size

// Note returns the data for planning an entry's case without loading it, in addition to
// its listing.
func (e *Entry) Note() string {
	w := packed.Writer{Bytes: make([]byte, 0, noteDigests+4)}
	for _, digest := range []string{e.Digests.E, e.Digests.J, e.Digests.D} {
		w.Bytes, _ = hex.AppendDecode(w.Bytes, []byte(digest)) // created by seal, so it is hex
	}
	steered := 0
	if e.Steered {
		steered = 1
	}
	w.Number(steered)
	w.Number(e.Samples)
	return string(w.Bytes)
}

// ReadNote restores the data of Note, and returns the rest of the text. It reports
// false for any other text.
func (e *Entry) ReadNote(note string) (rest string, ok bool) {
	if len(note) < noteDigests {
		return "", false
	}
	digits := hex.EncodeToString([]byte(note[:noteDigests]))
	e.Digests.E, e.Digests.J, e.Digests.D = digits[:64], digits[64:128], digits[128:]
	r := packed.Reader{Rest: note[noteDigests:]}
	e.Steered, e.Samples = r.Number() == 1, r.Number()
	return r.Rest, !r.Bad
}
