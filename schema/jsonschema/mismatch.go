package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A Mismatch is a value that does not fit a schema.
type Mismatch struct {
	// At is the position of the mismatch, such as $.items[0].
	At string
	// Message is the reason.
	Message string
	// More counts the other reasons.
	More int
}

// Error names the place and the reason.
func (m *Mismatch) Error() string {
	text := m.At + ": " + m.Message
	if m.More > 0 {
		text += fmt.Sprintf(" (and %d more)", m.More)
	}
	return text
}

// mismatch returns the first reason by position, so that the same value always gets the
// same one.
func mismatch(err *jsonschema.ValidationError, value any) *Mismatch {
	all := reasons(err)
	first := slices.MinFunc(all, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			slices.Compare(a.InstanceLocation, b.InstanceLocation),
			cmp.Compare(a.SchemaURL, b.SchemaURL),
			cmp.Compare(message(a), message(b)),
		)
	})
	return &Mismatch{At: locationText(first.InstanceLocation, value), Message: message(first), More: len(all) - 1}
}

// reasons returns the leaves of a tree of errors. A value that fits none of several
// schemas is one reason, however many each of them has.
func reasons(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		var all []*jsonschema.ValidationError
		for _, cause := range err.Causes {
			all = append(all, reasons(cause)...)
		}
		if len(all) > 0 {
			return all
		}
	}
	return []*jsonschema.ValidationError{err}
}

// message describes the reason.
func message(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "not allowed"
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.Not:
		return "the value fits the schema of not"
	case *kind.AnyOf:
		return fmt.Sprintf("the value fits none of the %d schemas of anyOf", len(err.Causes))
	case *kind.OneOf:
		if n := len(k.Subschemas); n > 0 {
			return fmt.Sprintf("the value fits more than one schema of oneOf (%d and %d)", k.Subschemas[0], k.Subschemas[1])
		}
		return fmt.Sprintf("the value fits none of the %d schemas of oneOf", len(err.Causes))
	}
	alone := &jsonschema.ValidationError{SchemaURL: err.SchemaURL, ErrorKind: err.ErrorKind}
	return alone.BasicOutput().Error.String()
}

// locationText returns a location in a value as people write it.
func locationText(location []string, value any) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, step := range location {
		if _, list := value.([]any); list {
			fmt.Fprintf(&b, "[%s]", step)
		} else {
			b.WriteString("." + step)
		}
		value = child(value, step)
	}
	return b.String()
}

// child returns a part of a value, or nil.
func child(value any, step string) any {
	switch x := value.(type) {
	case map[string]any:
		return x[step]
	case []any:
		for i := range x {
			if fmt.Sprint(i) == step {
				return x[i]
			}
		}
	}
	return nil
}
