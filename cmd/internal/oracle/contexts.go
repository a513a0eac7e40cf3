package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// contextRows have the assertions about a context that was retrieved and about the turns of a
// conversation, and answer-relevance. The judge of promptfoo says in lines what Gavel's says in
// JSON; the shares that follow are compared.
func contextRows() []GradedRow {
	return slices.Concat(claimRows(), quotingRows(), turnRows(), relevanceRows())
}

// replied returns JSON of a reply.
func replied(reply object) string {
	raw, err := json.Marshal(reply)
	if err != nil {
		panic(err) // it is a literal
	}
	return string(raw)
}

// holdings returns all lists of true and false with up to most of them, but the empty one.
func holdings(most int) [][]bool {
	var all [][]bool
	for n := 1; n <= most; n++ {
		for bits := range 1 << n {
			one := make([]bool, n)
			for i := range one {
				one[i] = bits>>i&1 == 1
			}
			all = append(all, one)
		}
	}
	return all
}

// claimRows have statements that the context supports or does not.
func claimRows() []GradedRow {
	var rows []GradedRow
	for _, holds := range holdings(4) {
		var faithful, recalled []string
		var statements, claims list
		for i, yes := range holds {
			statement := fmt.Sprintf("Paris has property %d", i)
			faithful = append(faithful, fmt.Sprintf("%d. %s. verdict: %s", i+1, statement, map[bool]string{true: "yes", false: "no"}[yes]))
			recalled = append(recalled, fmt.Sprintf("%d. %s. [%sAttributed]", i+1, statement, map[bool]string{false: "Not "}[yes]))
			statements, claims = append(statements, statement), append(claims, object{"statement": statement, "supported": yes})
		}
		ours := replied(object{"statements": statements, "claims": claims})
		for _, least := range leasts {
			row := GradedRow{Output: "hello", Ours: ours, Vars: object{"query": "Where is Paris? ROWQ", "context": "Paris is in France. ROWQ"}}
			row.Theirs = strings.Join(faithful, "\n")
			rows = append(rows, both(row, Assertion{Type: "context-faithfulness", Threshold: least})...)
			row.Theirs = strings.Join(recalled, "\n")
			rows = append(rows, both(row, Assertion{Type: "context-recall", Value: "Paris has properties.", Threshold: least})...)
		}
	}
	return rows
}

// quotingRows have sentences of a context that the question needs.
func quotingRows() []GradedRow {
	var rows []GradedRow
	parts := []string{"Paris is in France.", "It is big!", "Is it old?", "It has a tower."}
	for _, of := range []struct {
		context any
		units   int
	}{
		{strings.Join(parts, " "), 4}, {strings.Join(parts[:1], " "), 1}, {strings.Join(parts[:3], "\n"), 3}, {parts[0] + " " + parts[1] + "\n" + parts[2], 3}, {list{parts[0], parts[1], parts[2]}, 3}, {list{parts[0] + " " + parts[1], parts[2]}, 3}, {"1. " + strings.Join(parts[:2], " 2. "), 2}, {"\n" + parts[0] + "\n\n" + parts[1] + "\n", 2},
	} {
		for n := 0; n <= of.units; n++ {
			row := GradedRow{Output: "hello", Vars: object{"query": "Where is Paris? ROWQ", "context": of.context}, Theirs: strings.Join(parts[:n], "\n")}
			if n == 0 {
				row.Theirs = "Insufficient Information"
			}
			row.Ours = replied(object{"sentences": append([]string{}, parts[:n]...)})
			for _, least := range leasts {
				rows = append(rows, both(row, Assertion{Type: "context-relevance", Threshold: least})...)
			}
		}
	}
	return rows
}

// turnRows have conversations in which all answers are to the point, or none is.
func turnRows() []GradedRow {
	var rows []GradedRow
	for _, of := range product(list{0, 1, 2, 3, 7}, list{true, false}, list{nil, 1.0, 3.0}) {
		row := GradedRow{Output: "hello ROWQ"}
		verdict := map[bool]string{true: "yes", false: "no"}[of[1].(bool)]
		row.Theirs, row.Ours = replied(object{"verdict": verdict, "reason": "r"}), replied(object{"relevant": of[1], "reason": "r"})
		if n := of[0].(int); n > 0 {
			var turns list
			for i := range n {
				turns = append(turns, object{"input": fmt.Sprintf("question %d ROWQ", i), "output": fmt.Sprintf("answer %d", i)})
			}
			row.Vars = object{"_conversation": turns}
		}
		for _, least := range leasts {
			a := Assertion{Type: "conversation-relevance", Threshold: least}
			if of[2] != nil {
				a.Config = object{"windowSize": of[2]}
			}
			rows = append(rows, both(row, a)...)
		}
	}
	return rows
}

// relevanceRows have an answer whose likeness to the question is a score: promptfoo compares
// the questions that its judge derives from the answer, and Gavel's judge scores it.
func relevanceRows() []GradedRow {
	var rows []GradedRow
	for vector, score := range map[string]float64{"v 1 0": 1, "v 0.8 0.6": 0.8, "v 0.6 0.8": 0.6, "v 0.28 0.96": 0.28, "v 0 1": 0} {
		for _, least := range leasts {
			row := GradedRow{Output: "hello ROWQ", Vars: object{"query": "v 1 0"}, Theirs: vector, Ours: replied(object{"reason": "r", "pass": score >= 0.5, "score": score})}
			rows = append(rows, both(row, Assertion{Type: "answer-relevance", Threshold: least})...)
		}
	}
	slices.SortStableFunc(rows, func(a, b GradedRow) int { return strings.Compare(a.Theirs, b.Theirs) })
	return rows
}
