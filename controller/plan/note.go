package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
)

// Equal compares environments except for their functions, which are the same for
// all of them.
func (e Environment) Equal(other Environment) bool {
	e.Roots, other.Roots = nil, nil
	return reflect.DeepEqual(e, other)
}

// Digest is the hex SHA-256 of what Equal compares, for notes that hold in one
// environment.
func (e *Environment) Digest() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("describe the environment: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// noteDigests is how many bytes of a note are the three digests. The number of
// samples follows as a varint, after whether the case is steered.
const noteDigests = 3 * sha256.Size

// Note is what has to be remembered of an entry to plan its case without loading
// it, besides what lists the case.
func (e *Entry) Note() string {
	note := make([]byte, 0, noteDigests+4)
	for _, digest := range []string{e.Digests.E, e.Digests.J, e.Digests.D} {
		note, _ = hex.AppendDecode(note, []byte(digest)) // seal made it, so it is hex
	}
	steered := uint64(0)
	if e.Steered {
		steered = 1
	}
	note = binary.AppendUvarint(note, steered)
	return string(binary.AppendUvarint(note, uint64(e.Samples)))
}

// ReadNote fills in what Note remembered. It reports false for what Note did not
// write.
func (e *Entry) ReadNote(note string) bool {
	if len(note) < noteDigests {
		return false
	}
	digits := hex.EncodeToString([]byte(note[:noteDigests]))
	e.Digests.E, e.Digests.J, e.Digests.D = digits[:64], digits[64:128], digits[128:]
	rest := []byte(note[noteDigests:])
	steered, n := binary.Uvarint(rest)
	if n <= 0 {
		return false
	}
	samples, m := binary.Uvarint(rest[n:])
	e.Steered, e.Samples = steered == 1, int(samples)
	return m > 0
}
