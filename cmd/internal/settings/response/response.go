// Package response writes the answers to requests for definitions, as JSON.
//
// Most callers want [Write], and [Fail] for an error, which a [Refusal] gives its status.
package response

import (
	"encoding/json"
	"errors"
	"fmt"
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
