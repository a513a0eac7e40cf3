package jsonform_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/jsonform"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ form, value, want string }{
		{`{}`, `{"a":[1]}`, ""},
		{`true`, `1`, ""},
		{`false`, `1`, "$ is not allowed"},
		{`{"type":"object"}`, `{}`, ""},
		{`{"type":"object"}`, `[]`, "$ is no object"},
		{`{"type":["string","null"]}`, `null`, ""},
		{`{"type":["string","null"]}`, `1`, "$ is no string or null"},
		{`{"type":"integer"}`, `3.0`, ""},
		{`{"type":"integer"}`, `3.5`, "$ is no integer"},
		{`{"type":"boolean"}`, `false`, ""},
		{`{"enum":["a",1.0]}`, `1`, ""},
		{`{"enum":["a",1.0]}`, `"b"`, "none of the 2 values"},
		{`{"const":{"b":1,"a":2}}`, `{"a":2,"b":1}`, ""},
		{`{"const":null}`, `0`, "$ is not null"},
		{`{"minimum":1,"maximum":2}`, `1`, ""},
		{`{"minimum":1}`, `0.5`, "at least 1"},
		{`{"maximum":1}`, `2`, "at most 1"},
		{`{"exclusiveMinimum":1}`, `1`, "more than 1"},
		{`{"exclusiveMaximum":1}`, `1`, "less than 1"},
		{`{"minLength":2,"maxLength":3}`, `"äöü"`, ""},
		{`{"minLength":2}`, `"a"`, "at least 2"},
		{`{"maxLength":2}`, `"abc"`, "at most 2"},
		{`{"pattern":"^A-\\d+$"}`, `"A-12"`, ""},
		{`{"pattern":"^A-\\d+$"}`, `"B-12"`, "does not match"},
		{`{"items":{"type":"string"},"minItems":1,"maxItems":2}`, `["a"]`, ""},
		{`{"items":{"type":"string"}}`, `["a",2]`, "$[1] is no string"},
		{`{"minItems":1}`, `[]`, "at least 1"},
		{`{"maxItems":1}`, `[1,2]`, "at most 1"},
		{`{"properties":{"a":{"properties":{"b":{"type":"number"}}}}}`, `{"a":{"b":"x"}}`, "$.a.b is no number"},
		{`{"required":["a"]}`, `{"b":1}`, "$ has no a"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, ""},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":2}`, "$.b is not allowed"},
		{`{"additionalProperties":{"type":"number"}}`, `{"b":"2"}`, "$.b is no number"},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `3`, "at most 2"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "none of the 2 forms"},
		{`{"oneOf":[{"minimum":1},{"maximum":2}]}`, `1.5`, "fits 2 of the 2"},
		{`{"oneOf":[{"minimum":1},{"maximum":0}]}`, `1.5`, ""},
		{`{"not":{"type":"string"}}`, `"x"`, "the form of not"},
		{`{"title":"t","description":"d","$schema":"s","default":1,"examples":[1],"format":"email"}`, `"no mail"`, ""},
		{`{"type":"object"}`, `{"a":`, "reading json"},
		{`{"type":"string"}`, ``, "reading json"},
	} {
		f, err := jsonform.Parse([]byte(tt.form))
		if err != nil {
			t.Errorf("%s: %v", tt.form, err)
			continue
		}
		err = f.Check([]byte(tt.value))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: %v, want %q", tt.value, tt.form, err, tt.want)
		}
	}
}

func TestParseRefusesWhatItCannotRead(t *testing.T) {
	for form, want := range map[string]string{
		`{"$ref":"#/x"}`:                  `the keyword "$ref" is not read`,
		`{"properties":{"a":{"typ":""}}}`: `the keyword "typ" is not read`,
		`{"type":"text"}`:                 `there is no type "text"`,
		`{"pattern":"("}`:                 "missing closing",
		`{"required":"a"}`:                "cannot unmarshal",
		`"x"`:                             "cannot unmarshal",
		`[]`:                              "cannot unmarshal",
		`{"type":`:                        "unexpected end",
		`{"pattern":"` + strings.Repeat("x", 5000) + `"}`: "5000 bytes",
	} {
		if _, err := jsonform.Parse([]byte(form)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", form, err, want)
		}
	}
}
