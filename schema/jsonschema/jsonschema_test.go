package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// ExampleSchema_Check holds a value against a schema that refers to itself.
func ExampleSchema_Check() {
	tree, err := jsonschema.Compile([]byte(`{
		"type": "object", "required": ["name"],
		"properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#"}}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tree.Check([]byte(`{"name":"a","children":[{"name":"b"}]}`)))
	fmt.Println(tree.Check([]byte(`{"name":"a","children":[{"name":7}]}`)))
	// Output:
	// <nil>
	// $.children[0].name: got number, want string
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{}`, `{"a":[1]}`, ""},
		{`true`, `1`, ""},
		{`false`, `1`, "$: not allowed"},
		{`{"type":"object"}`, `{}`, ""},
		{`{"type":"object"}`, `[]`, "$: got array, want object"},
		{`{"type":["string","null"]}`, `null`, ""},
		{`{"type":["string","null"]}`, `1`, "$: got number, want null or string"},
		{`{"type":"integer"}`, `3.0`, ""},
		{`{"type":"integer"}`, `3.5`, "$: got number, want integer"},
		{`{"type":"boolean"}`, `false`, ""},
		{`{"enum":["a",1.0]}`, `1`, ""},
		{`{"enum":["a",1.0]}`, `"b"`, "$: value must be one of 'a', 1.0"},
		{`{"const":{"b":1,"a":2}}`, `{"a":2,"b":1}`, ""},
		{`{"const":null}`, `0`, "$: value must be <nil>"},
		{`{"minimum":1,"maximum":2}`, `1`, ""},
		{`{"minimum":1}`, `0.5`, "$: minimum: got 0.5, want 1"},
		{`{"maximum":1}`, `2`, "$: maximum: got 2, want 1"},
		{`{"exclusiveMinimum":1}`, `1`, "$: exclusiveMinimum: got 1, want 1"},
		{`{"exclusiveMaximum":1}`, `1`, "$: exclusiveMaximum: got 1, want 1"},
		{`{"multipleOf":0.1}`, `0.3`, ""},
		{`{"multipleOf":2}`, `3`, "$: multipleOf: got 3, want 2"},
		{`{"minLength":2,"maxLength":3}`, `"äöü"`, ""},
		{`{"minLength":2}`, `"a"`, "$: minLength: got 1, want 2"},
		{`{"maxLength":2}`, `"abc"`, "$: maxLength: got 3, want 2"},
		{`{"pattern":"^A-\\d+$"}`, `"A-12"`, ""},
		{`{"pattern":"^A-\\d+$"}`, `"B-12"`, "$: 'B-12' does not match pattern"},
		{`{"items":{"type":"string"},"minItems":1,"maxItems":2}`, `["a"]`, ""},
		{`{"items":{"type":"string"}}`, `["a",2]`, "$[1]: got number, want string"},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",2]`, "$[1]: not allowed"},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a",2]`, "$: min 2 items required"},
		{`{"unevaluatedItems":false,"prefixItems":[true]}`, `["a",2]`, "$[1]: not allowed"},
		{`{"minItems":1}`, `[]`, "$: minItems: got 0, want 1"},
		{`{"maxItems":1}`, `[1,2]`, "$: maxItems: got 2, want 1"},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2,"a":1.0}]`, "$: items at 0 and 1 are equal"},
		{`{"properties":{"a":{"properties":{"b":{"type":"number"}}}}}`, `{"a":{"b":"x"}}`, "$.a.b: got string, want number"},
		{`{"properties":{"0":{"type":"number"}}}`, `{"0":"x"}`, "$.0: got string"},
		{`{"patternProperties":{"^x":{"type":"number"}}}`, `{"xa":"x"}`, "$.xa: got string"},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "$: invalid propertyName 'ab'"},
		{`{"required":["a"]}`, `{"b":1}`, "$: missing property 'a'"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "$: properties 'b' required, if 'a' exists"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, ""},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"c":2,"b":2}`, "$: additional properties 'b', 'c' not allowed"},
		{`{"additionalProperties":{"type":"number"}}`, `{"b":"2"}`, "$.b: got string, want number"},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"a":1,"b":1}`, "$.b: not allowed"},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `3`, "$: maximum: got 3, want 2"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "$: the value fits none of the 2 schemas of anyOf"},
		{`{"oneOf":[{"minimum":1},{"maximum":2}]}`, `1.5`, "$: the value fits more than one schema of oneOf (0 and 1)"},
		{`{"oneOf":[{"minimum":3},{"maximum":1}]}`, `1.5`, "$: the value fits none of the 2 schemas of oneOf"},
		{`{"oneOf":[{"minimum":1},{"maximum":0}]}`, `1.5`, ""},
		{`{"not":{"type":"string"}}`, `"x"`, "$: the value fits the schema of not"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "$: missing property 'b'"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, "$: missing property 'c'"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$anchor":"x","type":"null"}}}`, `1`, "$: got number, want null"},
		{`{"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"null"}}}`, `1`, "$: got number, want null"},
		{`{"properties":{"a":{"$ref":"#/definitions/b~1c"}},"definitions":{"b/c":{"type":"null"}}}`, `{"a":1}`, "$.a: got number"},
		{`{"format":"email"}`, `"no mail"`, "$: 'no mail' is not valid email"},
		{`{"format":"int32"}`, `"no number"`, ""},
		{`{"title":"t","description":"d","$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://a.invalid/b","default":1,"examples":[1]}`, `1`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, "$: last 1 additionalItem(s) not allowed"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"c":1}`, "$: missing property 'd'"},
		{`{"type":"object"}`, `{"a":`, "$: read JSON: unexpected EOF"},
		{`{"type":"object"}`, `{} 1`, "$: read JSON: more data after the value"},
		{`{"required":["a"],"properties":{"b":{"type":"null"}}}`, `{"b":1}`, "$: missing property 'a' (and 1 more)"},
	} {
		s, err := jsonschema.Compile([]byte(tt.schema))
		if err != nil {
			t.Errorf("%s does not compile: %v", tt.schema, err)
			continue
		}
		for range 3 { // the reason is always the same one
			err = s.Check([]byte(tt.value))
			if _, ok := errors.AsType[*jsonschema.Mismatch](err); ok != (tt.want != "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%s by %s: %v, want %q", tt.value, tt.schema, err, tt.want)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	const defs = `"$defs":{"item":{}}`
	tests := []struct{ schema, want, hint string }{
		{`{"properties":{"a":{"typ":""}}}`, `$.properties.a: unknown keyword "typ"`, "did you mean `type`?"},
		{`{"allOf":[{"anyOf":[{},{"minmum":1}]}]}`, `$.allOf[0].anyOf[1]: unknown keyword "minmum"`, "did you mean `minimum`?"},
		{`{"dependencies":{}}`, `$: unknown keyword "dependencies"`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[]}`, `$: unknown keyword "prefixItems"`, ""},
		{`{"$dynamicRef":"#a"}`, `$: unknown keyword "$dynamicRef"`, ""},
		{`{"properties":{"a":{"$id":"b"}}}`, `$.properties.a: unknown keyword "$id"`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `$.$schema: "http://json-schema.org/draft-04/schema#" is not known; write https://json-schema.org/draft/2020-12/schema`, ""},
		{`{"type":"text"}`, `$: unknown type "text"`, ""},
		{`{"type":["null","strin"]}`, `$: unknown type "strin"`, "did you mean `string`?"},
		{`{"$ref":"#/$defs/itme",` + defs + `}`, `$: unknown $ref "#/$defs/itme"`, "did you mean `#/$defs/item`?"},
		{`{"$ref":"#/default","default":{"typ":1}}`, `$: unknown $ref "#/default"`, ""},
		{`{"$ref":"file:///etc/passwd"}`, `$: $ref "file:///etc/passwd" is not part of the schema`, ""},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `is not part of the schema`, ""},
		{`{"$id":"https://a.invalid/b","$ref":"c"}`, `$ref "c" is not part of the schema`, ""},
		{`{"pattern":"("}`, "$.pattern: '(' is not valid regex", ""},
		{`{"pattern":"a(?=b)"}`, "$.pattern: 'a(?=b)' is not valid regex", ""},
		{`{"required":"a"}`, "$.required: got string, want array", ""},
		{`{"minimum":"1"}`, "$.minimum: got string, want number", ""},
		{`"x"`, "got string, want", ""},
		{`[]`, "got array, want", ""},
		{`{"type":`, "read JSON: unexpected EOF", ""},
		{`{"pattern":"` + strings.Repeat("x", 5000) + `"}`, "5000 bytes", ""},
	}
	for _, tt := range tests {
		_, err := jsonschema.Compile([]byte(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: %v, want %q", tt.schema, err, tt.want)
			continue
		}
		if unknown, ok := errors.AsType[*jsonschema.UnknownError](err); ok {
			if hint := suggest.DidYouMean(unknown.Name, unknown.Known); tt.hint != "" && hint != tt.hint {
				t.Errorf("%.60s: the hint is %q, want %q", tt.schema, hint, tt.hint)
			}
		}
	}
	if _, err := jsonschema.CompileDefinition([]byte(`{`+defs+`}`), "other"); err == nil {
		t.Error("a definition that does not exist was compiled")
	}
}

// TestHostile holds that neither a schema nor a value costs much more than its
// size: the test ends, and says which bound was exceeded.
func TestHostile(t *testing.T) {
	// Each schema asks twice for the next one.
	var doubled strings.Builder
	for i := range 20 {
		fmt.Fprintf(&doubled, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1)
	}
	twice := `{"$ref":"#/$defs/a0","$defs":{` + doubled.String() + `"a20":{"minimum":1}}}`
	var chain strings.Builder
	for i := range 100 {
		fmt.Fprintf(&chain, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ name, schema, value, compile, check string }{
		{"doubling about one value", twice, `1`, "", "takes more than 100000 steps"},
		{"doubling in parts", `{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, nested(200), "", "takes more than 100000 steps"},
		{"many values", `{"items":{"anyOf":[{"minimum":1},{"minimum":0}]}}`, "[" + strings.Repeat("0,", 200_000) + "0]", "", "takes more than 100000 steps"},
		{"a chain", `{"$ref":"#/$defs/a0","$defs":{` + chain.String() + `"a100":{}}}`, `1`, "more than 64 subschemas about one value", ""},
		{"a circle", `{"$ref":"#"}`, `1`, "or one refers to itself", ""},
		{"a wider circle", `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`, `1`, "or one refers to itself", ""},
		{"a deep value", `{"items":{"$ref":"#"}}`, nested(10_000), "", "$: JSON is nested deeper than 256 levels"},
		{"a deep schema", `{"default":` + nested(1000) + `}`, `1`, "JSON is nested deeper than 256 levels", ""},
		{"a huge exponent", `{"multipleOf":3}`, `1e999999`, "", "$: the number 1e999999… is out of range"},
		{"a huge exponent in a schema", `{"minimum":1E-0001000}`, `1`, "the number 1E-0001000… is out of range", ""},
		{"a long number", `{"multipleOf":3}`, strings.Repeat("7", 100_000), "", "is out of range"},
		{"many subschemas", `{"anyOf":[` + strings.Repeat("{},", 3000) + `{}]}`, `1`, "more than 2000 subschemas", ""},
		{"nested repetition", `{"pattern":"((a{1000}){1000}){1000}"}`, `"a"`, "is not valid regex", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := jsonschema.Compile([]byte(tt.schema))
			if (err == nil) != (tt.compile == "") || err != nil && !strings.Contains(err.Error(), tt.compile) {
				t.Fatalf("compile: %v, want %q", err, tt.compile)
			}
			if s == nil {
				return
			}
			if err = s.Check([]byte(tt.value)); tt.check != "" && (err == nil || !strings.Contains(err.Error(), tt.check)) {
				t.Errorf("check: %v, want %q", err, tt.check)
			}
		})
	}
}

// FuzzCheck holds any schema against any value: an error or nil, the same one
// each time.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`, `[1]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := jsonschema.Compile([]byte(text))
		if err != nil {
			return
		}
		first, second := fmt.Sprint(s.Check([]byte(value))), fmt.Sprint(s.Check([]byte(value)))
		if first != second {
			t.Errorf("%s by %s: %s, and then %s", value, text, first, second)
		}
	})
}
