package pieces

import (
	"encoding/json"
	"iter"
	"runtime"
)

// ahead is how many elements are encoded at a time by one processor.
const ahead = 256

// Encoded is the JSON of each element, in order. All processors encode, and no more
// than a few hundred elements each before the caller has taken them. The error is
// that of the element, after which nothing follows.
func Encoded[T any](elements []T) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var encoding []chan encodedTexts
		for len(elements) > 0 || len(encoding) > 0 {
			for len(elements) > 0 && len(encoding) < runtime.GOMAXPROCS(0) {
				n := min(ahead, len(elements))
				done := make(chan encodedTexts, 1) // nobody waits for it if the caller stops
				go func(chunk []T) { done <- encode(chunk) }(elements[:n])
				encoding, elements = append(encoding, done), elements[n:]
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

// encodedTexts are the texts of the elements before the first that has none.
type encodedTexts struct {
	texts [][]byte
	err   error
}

func encode[T any](elements []T) encodedTexts {
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
