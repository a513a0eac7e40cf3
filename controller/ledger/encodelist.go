package ledger

import (
	"encoding/json"
	"iter"
	"runtime"
)

// encodeAhead is the number of elements that a processor encodes at a time.
const encodeAhead = 256

// EncodeList yields the JSON of each element in order. All processors encode, each no more
// than a few hundred elements ahead of the caller. The first element that fails ends the
// sequence with its error.
func EncodeList[T any](elements []T) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var encoding []chan encodedTexts
		rest := elements // a sequence may be read again
		for len(rest) > 0 || len(encoding) > 0 {
			for len(rest) > 0 && len(encoding) < runtime.GOMAXPROCS(0) {
				n := min(encodeAhead, len(rest))
				done := make(chan encodedTexts, 1) // nobody receives from it if the caller stops
				go func(chunk []T) { done <- encodeChunk(chunk) }(rest[:n])
				encoding, rest = append(encoding, done), rest[n:]
			}
			chunk := <-encoding[0]
			encoding = encoding[1:]
			for _, text := range chunk.texts {
				if !yield(text, nil) {
					return
				}
			}
			if chunk.err != nil {
				yield(nil, chunk.err)
				return
			}
		}
	}
}

// encodedTexts holds the JSON of the elements before the first that fails.
type encodedTexts struct {
	texts [][]byte
	err   error
}

func encodeChunk[T any](elements []T) encodedTexts {
	out := encodedTexts{texts: make([][]byte, 0, len(elements))}
	for i := range elements {
		text, err := json.Marshal(&elements[i])
		if err != nil {
			out.err = err
			return out
		}
		out.texts = append(out.texts, text)
	}
	return out
}
