package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// The bounds of a schema and a value. Together they bound the time and the
// stack of a check.
const (
	maxSchemas = 2000    // subschemas of a schema
	maxPattern = 4096    // bytes of a pattern
	maxChain   = 64      // subschemas in one another that are about the same value
	maxDepth   = 256     // levels of a value
	maxSteps   = 100_000 // subschemas times the values that they are checked for
	maxNumber  = 1000    // characters of a number
)

// hugeExponent matches an exponent that costs more memory than anybody intends.
var hugeExponent = lazyregexp.New(`[eE][+-]?0*[0-9]{4}`)

// checkValue refuses nesting and numbers that cost too much.
func checkValue(value any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("JSON is nested deeper than %d levels", maxDepth)
	}
	switch x := value.(type) {
	case json.Number:
		if len(x) > maxNumber || hugeExponent.MatchString(string(x)) {
			return fmt.Errorf("the number %.20s… is out of range", string(x))
		}
	case []any:
		for _, item := range x {
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range x {
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

var errSteps = errors.New("too many steps")

// bound makes every subschema count its checks, before it can lead to others. The error
// means that subschemas about the same value are nested too deeply, or endlessly.
func (s *Schema) bound() error {
	seen := map[*jsonschema.Schema]bool{}
	s.visit(s.compiled, seen)
	chains := map[*jsonschema.Schema]int{}
	for sub := range seen {
		if chain(sub, chains) > maxChain {
			return fmt.Errorf("more than %d subschemas about one value are in one another, or one refers to itself", maxChain)
		}
	}
	return nil
}

// visit prepares a subschema and everything that it leads to.
func (s *Schema) visit(sub *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if sub == nil || seen[sub] {
		return
	}
	seen[sub] = true
	s.count(sub)
	for _, inner := range slices.Concat(sameValueSchemas(sub), partSchemas(sub)) {
		s.visit(inner, seen)
	}
}

// chain returns the depth of subschemas about the same value, from this one on. A cycle
// exceeds every bound.
func chain(sub *jsonschema.Schema, chains map[*jsonschema.Schema]int) int {
	if sub == nil {
		return 0
	}
	if known, seen := chains[sub]; seen {
		return known
	}
	chains[sub] = maxChain + 1 // while it is being looked at
	longest := 0
	for _, inner := range sameValueSchemas(sub) {
		longest = max(longest, chain(inner, chains))
	}
	chains[sub] = longest + 1
	return longest + 1
}

// count counts each check of a subschema. Once the steps are used up, every check ends
// at once.
func (s *Schema) count(sub *jsonschema.Schema) {
	format := sub.Format
	sub.Format = &jsonschema.Format{Name: "steps", Validate: func(v any) error {
		if s.left--; s.left < 0 {
			return errSteps
		}
		if format == nil {
			return nil
		}
		return format.Validate(v)
	}}
	if format != nil {
		sub.Format.Name = format.Name
	}
}

// sameValueSchemas lists the subschemas that are about the same value as a schema.
func sameValueSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, inner := range s.DependentSchemas {
		list = append(list, inner)
	}
	for _, inner := range s.Dependencies {
		list = append(list, listed(inner)...)
	}
	return list
}

// partSchemas lists the subschemas that are about a part of the value.
func partSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(
		[]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema},
		s.PrefixItems, listed(s.AdditionalProperties), listed(s.Items), listed(s.AdditionalItems),
	)
	for _, inner := range s.Properties {
		list = append(list, inner)
	}
	for _, inner := range s.PatternProperties {
		list = append(list, inner)
	}
	return list
}

// listed returns the subschemas in a field that may have one, several or none.
func listed(field any) []*jsonschema.Schema {
	switch x := field.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{x}
	case []*jsonschema.Schema:
		return x
	}
	return nil
}
