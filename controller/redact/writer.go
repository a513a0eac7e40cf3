package redact

import "io"

// A Writer applies Hide to every text that it writes. It is for writers that receive
// whole texts at a time: a secret that is split over two writes is not found.
type Writer struct {
	W    io.Writer
	Hide func(string) string
}

// Write writes p without its secrets, and reports all of p as written.
func (w Writer) Write(p []byte) (int, error) {
	text := string(p)
	hidden := w.Hide(text)
	if hidden == text {
		return w.W.Write(p)
	}
	if _, err := io.WriteString(w.W, hidden); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the writer below, such as a terminal.
func (w Writer) Unwrap() io.Writer { return w.W }
