package redact

import "io"

// A Writer writes every text with Hide applied to it. It is for writers that are
// given whole texts at a time: a secret that is split over two writes is not
// found.
type Writer struct {
	W    io.Writer
	Hide func(string) string
}

// Write writes p without its secrets, and says that all of p is written.
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

// Unwrap is the writer below, such as a terminal.
func (w Writer) Unwrap() io.Writer { return w.W }
