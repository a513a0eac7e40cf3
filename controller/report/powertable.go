package report

import "github.com/gavel-evals/gavel/controller/power"

// A PowerTable says what comparisons of all cases of a suite would show, and what would
// raise it.
type PowerTable struct {
	// Cases are the active cases. Certain ones of them leave nothing to chance, and Unjudged
	// ones have no stored result.
	Cases    int `json:"cases"`
	Certain  int `json:"certain"`
	Unjudged int `json:"unjudged"`
	// Rows begin with the suite as it is.
	Rows []PowerRow `json:"rows"`
}

// A PowerRow is one way to have the suite.
type PowerRow struct {
	Name string `json:"name"`
	power.Studied
}
