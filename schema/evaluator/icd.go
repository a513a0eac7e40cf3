package evaluator

import (
	"encoding/json"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// The criteria of [ICDCodes], each with its share of the score.
const (
	ICDAccuracy     = "accuracy"
	ICDCompleteness = "completeness"
	ICDSpecificity  = "specificity"
	ICDPrecision    = "precision"
)

// ICDCodes compares the ICD codes in an answer with the expected ones.
type ICDCodes struct {
	// Expected are the codes in capitals, at least one.
	Expected []string `json:"expected"`
}

// Kind returns "icd_code_judge".
func (ICDCodes) Kind() string { return "icd_code_judge" }

// Version returns the version of finding and comparing codes.
func (ICDCodes) Version() int { return 1 }

// Roles returns none: no model is asked.
func (ICDCodes) Roles() []schema.Role { return nil }

// maxICDText bounds the text in which codes are looked for, in bytes.
const maxICDText = 1 << 20

// codeField matches the code of an object in JSON that does not parse.
var codeField = lazyregexp.New(`"code"\s*:\s*"([A-Za-z][0-9A-Za-z.]+)"`)

// fencedJSON matches a block of JSON in Markdown.
var fencedJSON = lazyregexp.New("(?s)```(?:json|JSON)?\\s*([\\[{].*?[\\]}])\\s*```")

// ICDCodesIn returns the codes listed in a text or a value, in capitals and in order:
// {"codes": [{"code": "K29.8"}]}, or a list of codes, alone or within other text.
func ICDCodesIn(text string) []string {
	if len(text) > maxICDText {
		text = text[:maxICDText]
	}
	var said string
	if json.Unmarshal([]byte(text), &said) == nil {
		text = said
	}
	parts := []string{text}
	if m := fencedJSON.FindStringSubmatch(text); m != nil {
		parts = append(parts, m[1])
	}
	for _, ends := range []string{"{}", "[]"} {
		if from, to := strings.IndexByte(text, ends[0]), strings.LastIndexByte(text, ends[1]); from >= 0 && to > from {
			parts = append(parts, text[from:to+1])
		}
	}
	for _, part := range parts {
		if codes := codesOf([]byte(part)); len(codes) > 0 {
			return codes
		}
	}
	var out []string
	for _, m := range codeField.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ToUpper(m[1]))
	}
	return out
}

// codesOf returns the codes of a value: an object with codes, or a list of objects or
// texts.
func codesOf(raw []byte) []string {
	var object struct {
		Codes json.RawMessage `json:"codes"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Codes != nil {
		raw = object.Codes
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var out []string
	for _, item := range items {
		var one struct {
			Code string `json:"code"`
		}
		if json.Unmarshal(item, &one.Code) != nil && json.Unmarshal(item, &one) != nil {
			continue
		}
		if code := strings.ToUpper(strings.TrimSpace(one.Code)); code != "" {
			out = append(out, code)
		}
	}
	return out
}
