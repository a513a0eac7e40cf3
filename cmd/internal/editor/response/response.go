// Package response reads requests for definitions, and writes the answers to them.
//
// Most callers want [Write], and [Fail] for an error, which a [Refusal] gives its status.
package response

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gavel-evals/gavel/schema"
)

// A Refusal is why a request is not done, with its status.
type Refusal struct {
	Status int
	Text   string
	// Problems are what is wrong with a definition.
	Problems []schema.Problem
}

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// Refuse refuses what was sent, with the status 400.
func Refuse(format string, args ...any) error {
	return &Refusal{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// Missing refuses a request for what does not exist.
func Missing(text string) error { return &Refusal{Status: http.StatusNotFound, Text: text} }

// Body is the body of a request. The error is a [Refusal].
func Body(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Text: "the body is too large"}
	case err != nil:
		return nil, Refuse("the body cannot be read: %v", err)
	}
	return body, nil
}

// Write writes an answer.
func Write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // nobody is left to be told
}

// Fail answers with why a request is not done.
func Fail(w http.ResponseWriter, err error) {
	var why *Refusal
	if !errors.As(err, &why) {
		why = &Refusal{Status: http.StatusInternalServerError, Text: err.Error()}
	}
	body := map[string]any{"success": false, "error": why.Text}
	if len(why.Problems) > 0 {
		body["problems"] = why.Problems
	}
	Write(w, why.Status, body)
}
