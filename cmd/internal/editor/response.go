package editor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gavel-evals/gavel/schema"
)

// A refusal is the error of a refused request, with its status.
type refusal struct {
	Status int
	Text   string
	// Problems are the errors in a definition.
	Problems []schema.Problem
}

// Error returns the text.
func (r *refusal) Error() string { return r.Text }

// refuse refuses a request with the status 400.
func refuse(format string, args ...any) error {
	return &refusal{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// missing refuses a request with the status 404.
func missing(text string) error { return &refusal{Status: http.StatusNotFound, Text: text} }

// readBody reads the body of a request. The error is a *refusal.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &refusal{Status: http.StatusRequestEntityTooLarge, Text: "the body is too large"}
	case err != nil:
		return nil, refuse("the body cannot be read: %v", err)
	}
	return body, nil
}

// writeAnswer answers with JSON.
func writeAnswer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(body) // the client is gone
}

// writeError answers with the reason of a refusal or an error.
func writeError(w http.ResponseWriter, err error) {
	var why *refusal
	if !errors.As(err, &why) {
		why = &refusal{Status: http.StatusInternalServerError, Text: err.Error()}
	}
	body := map[string]any{"success": false, "error": why.Text}
	if len(why.Problems) > 0 {
		body["problems"] = why.Problems
	}
	writeAnswer(w, why.Status, body)
}
