package evaluator

import "github.com/gavel-evals/gavel/schema"

// Traces looks for the traces of an agent's work: files in its workspace, and words in
// what it said, called and got back (files_exist and logs_contain of skills' evals). Each
// is a criterion.
type Traces struct {
	// Files are the last segments of paths of files that are there when it is done.
	Files []string `json:"files,omitempty"`
	// Logs are texts that occur, whatever the case of their letters.
	Logs []string `json:"logs,omitempty"`
}

// IDs returns the names of the criteria.
func (t Traces) IDs() []string {
	var ids []string
	for _, name := range t.Files {
		ids = append(ids, "file "+name)
	}
	for _, text := range t.Logs {
		ids = append(ids, "log "+text)
	}
	return ids
}

// Kind returns "traces".
func (Traces) Kind() string { return "traces" }

// Version returns the version of the comparison.
func (Traces) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Traces) Roles() []schema.Role { return nil }
