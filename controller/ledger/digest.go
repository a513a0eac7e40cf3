package ledger

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// The tables have a digest as the bytes of its hexadecimal digits, which are half as many,
// and a text that is not a digest as its bytes.

// digestBytes returns what is stored of a digest.
func digestBytes(digest string) []byte {
	if isDigest(digest) {
		sum, err := hex.DecodeString(digest)
		if err == nil {
			return sum
		}
	}
	return []byte(digest)
}

// isDigest reports whether a text has the length of a SHA-256 in hexadecimal digits, and
// only such in lower case.
func isDigest(s string) bool {
	if len(s) != 2*digestSize {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// digestSize is the number of bytes of a SHA-256.
const digestSize = 32

// A digestColumn reads a digest from a row: Scan(&rows, (*digestColumn)(&digest)).
type digestColumn string

// Scan implements [database/sql.Scanner].
func (d *digestColumn) Scan(column any) error {
	stored, ok := column.([]byte)
	if !ok {
		return fmt.Errorf("a digest is %T and not bytes", column)
	}
	if len(stored) == digestSize {
		*d = digestColumn(hex.EncodeToString(stored))
	} else {
		*d = digestColumn(stored)
	}
	return nil
}

// digestList returns digests as a JSON list of what is stored of them, in hexadecimal
// digits: unhex(value) of its rows is the digest in a table.
func digestList(digests []string) (string, error) {
	list, err := json.Marshal(digestHexes(digests))
	return string(list), err
}

// digestHexes returns the digestHex of each digest. It never returns nil.
func digestHexes(digests []string) []string {
	out := make([]string, len(digests))
	for i, digest := range digests {
		out[i] = digestHex(digest)
	}
	return out
}

// digestHex returns what is stored of a digest, in hexadecimal digits.
func digestHex(digest string) string {
	if isDigest(digest) {
		return digest
	}
	return hex.EncodeToString([]byte(digest))
}
