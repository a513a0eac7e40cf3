package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A promptfooResult is the part about a case in an output of promptfoo. Its provider is
// a name or an object.
type promptfooResult struct {
	TestCase struct {
		Description string `json:"description"`
	} `json:"testCase"`
	Vars     map[string]json.RawMessage `json:"vars"`
	Provider json.RawMessage            `json:"provider"`
	Prompt   struct {
		Label string `json:"label"`
	} `json:"prompt"`
	Error         string   `json:"error"`
	FailureReason int      `json:"failureReason"`
	Success       bool     `json:"success"`
	Score         *float64 `json:"score"`
}

// failedError is the failureReason of an unjudged result.
const failedError = 2

// readPromptfoo reads an output of promptfoo; nil for other data.
func readPromptfoo(data []byte) *Report {
	var doc struct {
		Results struct {
			Results []promptfooResult `json:"results"`
		} `json:"results"`
	}
	if json.Unmarshal(data, &doc) != nil || len(doc.Results.Results) == 0 {
		return nil
	}
	out := &Report{}
	seen := map[string]int{}
	for _, r := range doc.Results.Results {
		c := r.row()
		name := c.Key + "\x00" + c.Target
		if seen[name]++; seen[name] > 1 { // repetitions of a test
			c.Key += "-" + strconv.Itoa(seen[name])
		}
		out.Cases = append(out.Cases, c)
	}
	return out
}

func (r promptfooResult) row() Row {
	v := verdict.Fail
	if r.Success {
		v = verdict.Pass
	}
	row := Row{Key: r.key(), Dialect: schema.DialectMatrix, Target: r.target(), PerTarget: true, Score: r.Score, Verdict: &v, Weight: 1}
	if r.FailureReason == failedError {
		why := cmp.Or(r.Error, "the result has an error")
		row.Error, row.Verdict, row.Score = &why, nil, nil
	}
	return row
}

// key derives a case's name from its content: promptfoo's tests have no id.
func (r promptfooResult) key() string {
	vars, _ := json.Marshal(r.Vars) // JSON values with sorted keys
	name := strings.Join(strings.Fields(cmp.Or(r.TestCase.Description, "test")), " ")
	return name + "-" + shortHash(string(vars)) + "/" + shortHash(r.Prompt.Label)
}

func (r promptfooResult) target() string {
	var name string
	var object struct{ ID, Label string }
	if json.Unmarshal(r.Provider, &name) == nil {
		return name
	}
	if json.Unmarshal(r.Provider, &object) != nil {
		return ""
	}
	return cmp.Or(object.Label, object.ID)
}

// shortHash distinguishes texts.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
