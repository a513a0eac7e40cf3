package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// bareDigesters are digesters that find parts without their files, for digests alone.
// Each has the memory and the known digests of the cases before.
var bareDigesters = sync.Pool{New: func() any { return &digester{bare: true, known: map[string]string{}} }}

// release returns a bare digester to the others, with nothing of its case.
func (d *digester) release() {
	clear(d.parts)
	d.c, d.env, d.parts = nil, nil, d.parts[:0]
	bareDigesters.Put(d)
}

// A text is known for the cases that follow if it has at most knownLength bytes, and at
// most knownTexts are: the facts of targets, versions and thresholds, which the cases of a
// repository have in common.
const (
	knownLength = 64
	knownTexts  = 256
)

// digestOf is the hex SHA-256 of a text.
func (d *digester) digestOf(text string) string {
	if digest := d.known[text]; digest != "" {
		return digest
	}
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	if d.known != nil && len(text) <= knownLength && len(d.known) < knownTexts {
		d.known[text] = digest
	}
	return digest
}
