package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Recorded returns, for a recording, the digests of all lines that can answer
// conversations which begin with a request, by the digest of that request. Lines
// without the beginning of their conversation have the empty key. The case for which a
// line was recorded does not count.
func Recorded(name string, from io.Reader) (map[string]string, error) {
	lines, err := readRecording(name, from)
	if err != nil {
		return nil, err
	}
	byRoot := map[string][]string{}
	for _, l := range lines {
		l.Case, l.About = "", ""
		raw, err := json.Marshal(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		byRoot[l.Root] = append(byRoot[l.Root], string(raw))
	}
	out := make(map[string]string, len(byRoot))
	for root, replies := range byRoot {
		// Sorted by their remaining content, so that a renamed case changes nothing.
		slices.Sort(replies)
		sum := sha256.Sum256([]byte(strings.Join(replies, "\n")))
		out[root] = hex.EncodeToString(sum[:])
	}
	return out, nil
}
