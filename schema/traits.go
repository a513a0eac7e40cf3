package schema

import (
	"math"
	"slices"
	"strconv"
)

// Traits are what filters, reports and files of results need to know about the cases of a dialect.
// Nothing behind the compile step asks for more.
type Traits struct {
	// Scale multiplies a score of [0,1] where people read it.
	Scale float64
	// TopScore is the highest score in the notation of the dialect.
	TopScore float64
	// Lacks are the labels that no case has: tag, difficulty or status.
	Lacks []string
	// Levels means that the groups of a case are its domain and its level; otherwise they are suites.
	Levels bool
	// ListsSamples means that files of results list each sample of a case.
	ListsSamples bool
	// Identified means that a database would keep an identity for each case.
	Identified bool
}

// TraitsOf returns the traits of a dialect by its name. An unknown one has the usual traits.
func TraitsOf(dialect string) Traits {
	t := Traits{Scale: 1, TopScore: 1}
	switch dialect {
	case DialectTestcase:
		t.TopScore, t.Identified = 5, true
	case DialectPromptval: // whose authors write scores from 0 to 10
		t.Scale, t.TopScore, t.Lacks = 10, 10, []string{"tag", "difficulty", "status"}
	case DialectDomain:
		t.Levels, t.Lacks = true, []string{"tag", "status"}
	case DialectEvalcase:
		t.ListsSamples, t.Lacks = true, []string{"difficulty", "status"}
	case DialectSkill:
		t.ListsSamples, t.Lacks = true, []string{"difficulty", "status"}
	case DialectMatrix:
		t.Lacks = []string{"difficulty", "status"}
	}
	return t
}

// Traits returns the traits of the case's dialect.
func (c *CaseInfo) Traits() Traits { return TraitsOf(c.Dialect) }

// LacksLabel reports whether no case of the dialect has a label.
func (t Traits) LacksLabel(name string) bool { return slices.Contains(t.Lacks, name) }

// Show writes a score or threshold of [0,1] in the notation of the dialect's authors: 7.5 or 0.75.
func (t Traits) Show(x float64) string {
	// Multiplying adds last digits that nobody wrote.
	return strconv.FormatFloat(math.Round(x*t.Scale*1e9)/1e9, 'g', -1, 64)
}
