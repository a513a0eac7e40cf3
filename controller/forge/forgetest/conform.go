package forgetest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// githubREST holds what GitHub publishes about the operations in use: method,
// path, names, types and limits, no prose. It was extracted from the npm
// package and version that it names (`npm pack @octokit/openapi`; MIT): of
// generated/api.github.com.deref.json, for each operationId that the file
// lists, `parameters` with name, in, required and schema, and of
// requestBody.content["application/json"].schema `required` and `properties`;
// of every schema type, format, enum, maxLength, minimum, maximum and nullable.
// An operation that is new here is added in the same way.
//
//go:embed testdata/github-rest.json
var githubREST []byte

type description struct {
	Operations []operation `json:"operations"`
}

type operation struct {
	Name       string      `json:"operation"`
	Method     string      `json:"method"`
	Path       string      `json:"path"`
	Parameters []parameter `json:"parameters"`
	Body       *bodySchema `json:"body"`
}

type parameter struct {
	Name     string      `json:"name"`
	In       string      `json:"in"`
	Required bool        `json:"required"`
	Schema   valueSchema `json:"schema"`
}

type bodySchema struct {
	Required   []string               `json:"required"`
	Properties map[string]valueSchema `json:"properties"`
}

type valueSchema struct {
	Type      string   `json:"type"`
	Format    string   `json:"format"`
	Enum      []string `json:"enum"`
	MaxLength int      `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	Nullable  bool     `json:"nullable"`
}

var published = sync.OnceValues(func() (description, error) {
	var d description
	err := json.Unmarshal(githubREST, &d)
	return d, err
})

// Conforms tells what of r is not as GitHub's REST description has it: an
// unknown operation, query parameter or body field, a missing one, a wrong
// type, or a value that is not among those listed.
func Conforms(r Request) error {
	d, err := published()
	if err != nil {
		return fmt.Errorf("read testdata/github-rest.json: %w", err)
	}
	path := r.Path
	for _, base := range []string{"/api/v3", gitea} {
		path = strings.TrimPrefix(path, base)
	}
	for _, op := range d.Operations {
		values, ok := match(op.Path, path)
		if !ok || op.Method != r.Method {
			continue
		}
		if err := op.checkParameters(values, r.Query); err != nil {
			return err
		}
		return op.checkBody(r.Body)
	}
	return fmt.Errorf("no operation in use has this method and path")
}

// match holds a path against a template and returns the values of its names.
func match(template, path string) (map[string]string, bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	values := map[string]string{}
	for i, segment := range want {
		name, named := strings.CutPrefix(segment, "{")
		switch {
		case named && got[i] != "":
			values[strings.TrimSuffix(name, "}")] = got[i]
		case segment != got[i]:
			return nil, false
		}
	}
	return values, true
}

func (op operation) checkParameters(path map[string]string, query url.Values) error {
	known := map[string]bool{}
	for _, p := range op.Parameters {
		value, given := path[p.Name]
		if p.In == "query" {
			known[p.Name] = true
			value, given = query.Get(p.Name), query.Has(p.Name)
		}
		if !given && p.Required {
			return fmt.Errorf("%s: %s parameter %s is missing", op.Name, p.In, p.Name)
		}
		if !given {
			continue
		}
		if err := p.Schema.checkText(value); err != nil {
			return fmt.Errorf("%s: %s parameter %s: %w", op.Name, p.In, p.Name, err)
		}
	}
	for name := range query {
		if !known[name] {
			return fmt.Errorf("%s: unknown query parameter %s", op.Name, name)
		}
	}
	return nil
}

func (op operation) checkBody(data []byte) error {
	if op.Body == nil {
		if len(data) > 0 {
			return fmt.Errorf("%s: takes no body", op.Name)
		}
		return nil
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("%s: body: %w", op.Name, err)
	}
	for _, name := range op.Body.Required {
		if _, ok := body[name]; !ok {
			return fmt.Errorf("%s: body field %s is missing", op.Name, name)
		}
	}
	for name, value := range body {
		s, ok := op.Body.Properties[name]
		if !ok {
			return fmt.Errorf("%s: unknown body field %s", op.Name, name)
		}
		if err := s.check(value); err != nil {
			return fmt.Errorf("%s: body field %s: %w", op.Name, name, err)
		}
	}
	return nil
}

// checkText checks a value of a path or query, where everything is text.
func (s valueSchema) checkText(text string) error {
	if s.Type != "integer" {
		return s.check(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no integer", text)
	}
	return s.check(float64(n))
}

func (s valueSchema) check(value any) error {
	if value == nil && s.Nullable {
		return nil
	}
	switch v := value.(type) {
	case string:
		return s.checkString(v)
	case float64:
		isInteger := s.Type == "integer" && v == math.Trunc(v)
		switch {
		case !isInteger && s.Type != "number":
			return fmt.Errorf("%v is no %s", v, s.Type)
		case s.Minimum != nil && v < *s.Minimum, s.Maximum != nil && v > *s.Maximum:
			return fmt.Errorf("%v is out of range", v)
		}
		return nil
	case bool:
		if s.Type == "boolean" {
			return nil
		}
	}
	return fmt.Errorf("%v is no %s", value, s.Type)
}

func (s valueSchema) checkString(v string) error {
	switch {
	case s.Type != "string":
		return fmt.Errorf("%q is no %s", v, s.Type)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		return fmt.Errorf("%q is none of %s", v, strings.Join(s.Enum, ", "))
	case s.MaxLength > 0 && utf8.RuneCountInString(v) > s.MaxLength:
		return fmt.Errorf("longer than %d", s.MaxLength)
	case s.Format == "date-time":
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return fmt.Errorf("%q is no time", v)
		}
	}
	return nil
}
