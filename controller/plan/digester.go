package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// bareDigesters are digesters that find parts without their files, for digests alone.
// Each keeps the memory and the known digests of earlier cases.
var bareDigesters = sync.Pool{New: func() any { return &digester{bare: true, known: map[string]string{}} }}

// release returns a bare digester to the pool, without its case.
func (d *digester) release() {
	clear(d.parts)
	d.c, d.env, d.parts = nil, nil, d.parts[:0]
	bareDigesters.Put(d)
}

// A text is remembered for later cases if it has at most knownLength bytes, up to
// knownTexts of them: facts of targets, versions and thresholds, which the cases of a
// repository have in common.
const (
	knownLength = 64
	knownTexts  = 256
)

// digestOf returns the hex SHA-256 of a text.
func (d *digester) digestOf(text string) string {
	if digest := d.known[text]; digest != "" {
		return digest
	}
	digest := digits(sha256.Sum256([]byte(text)))
	if d.known != nil && len(text) <= knownLength && len(d.known) < knownTexts {
		d.known[text] = digest
	}
	return digest
}

// digits returns a hash in hex.
func digits(sum [sha256.Size]byte) string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}
