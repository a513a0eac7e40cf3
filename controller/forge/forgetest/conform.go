package forgetest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
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

// githubREST is GitHub's published description of the operations in use: method, path,
// names, types and limits, no prose. It was extracted from the npm package and version
// that it names (`npm pack @octokit/openapi`; MIT). From
// generated/api.github.com.deref.json it has, for each listed operationId, `parameters`
// with name, in, required and schema, and from
// requestBody.content["application/json"].schema `required`, `properties` and `anyOf`.
// Every schema has type, format, enum, maxLength, minimum, maximum and nullable; lists
// and objects also have their contents, and of several types (oneOf) the first counts.
// bodyOptional is set if requestBody is not
// `required`. Add a new operation in the same way.
//
//go:embed testdata/github-rest.json
var githubREST []byte

type description struct {
	Operations []operation `json:"operations"`
}

type operation struct {
	Name       string       `json:"operation"`
	Method     string       `json:"method"`
	Path       string       `json:"path"`
	Parameters []parameter  `json:"parameters"`
	Body       *valueSchema `json:"body"`
	// BodyOptional means that the request may have no body.
	BodyOptional bool `json:"bodyOptional"`
}

type parameter struct {
	Name     string      `json:"name"`
	In       string      `json:"in"`
	Required bool        `json:"required"`
	Schema   valueSchema `json:"schema"`
}

type valueSchema struct {
	Type      string   `json:"type"`
	Format    string   `json:"format"`
	Enum      []string `json:"enum"`
	MaxLength int      `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	Nullable  bool     `json:"nullable"`

	MaxItems int          `json:"maxItems"`
	Items    *valueSchema `json:"items"`

	Required   []string               `json:"required"`
	Properties map[string]valueSchema `json:"properties"`
	// AnyOf are further demands, one of which must be met.
	AnyOf []valueSchema `json:"anyOf"`
}

var published = sync.OnceValues(func() (description, error) {
	var d description
	err := json.Unmarshal(githubREST, &d)
	return d, err
})

// Conforms returns the first deviation of r from GitHub's REST description: an unknown
// operation, query parameter or body field, a missing one, a wrong type, a value
// outside the listed ones, or an odd header.
// A request to Gitea is held against its Go SDK instead.
func Conforms(r Request) error {
	if strings.HasPrefix(r.Path, giteaBase+"/") {
		return conformsGitea(r)
	}
	op, values, err := operationOf(r)
	if err != nil {
		return err
	}
	return cmp.Or(op.checkParameters(values, r.Query), op.checkBody(r.Body), checkHeader(r))
}

// Operation returns the name of r's operation in GitHub's REST description, such as
// checks/create; empty for an unused one.
func Operation(r Request) string {
	op, _, err := operationOf(r)
	if err != nil {
		return ""
	}
	return op.Name
}

// Operations returns the names of the operations in use.
func Operations() []string {
	d, err := published()
	if err != nil {
		panic(err) // it is embedded
	}
	var names []string
	for _, op := range d.Operations {
		names = append(names, op.Name)
	}
	return names
}

// operationOf finds a request's operation, and the values in its path.
func operationOf(r Request) (operation, map[string]string, error) {
	d, err := published()
	if err != nil {
		return operation{}, nil, fmt.Errorf("read testdata/github-rest.json: %w", err)
	}
	path := r.Path
	for _, base := range []string{"/api/v3", giteaBase} {
		path = strings.TrimPrefix(path, base)
	}
	for _, op := range d.Operations {
		values, ok := match(op.Path, path)
		if ok && op.Method == r.Method {
			return op, values, nil
		}
	}
	return operation{}, nil, errors.New("no operation in use has this method and path")
}

// checkHeader checks the headers that GitHub requires in every request. Requests made
// up without headers are left alone.
func checkHeader(r Request) error {
	if r.Header == nil {
		return nil
	}
	want := map[string][]string{
		"Accept":               {"application/vnd.github+json"},
		"X-Github-Api-Version": {"2022-11-28"},
		"User-Agent":           {"gavel"},
	}
	if len(r.Body) > 0 {
		want["Content-Type"] = []string{"application/json"}
	}
	for name, values := range want {
		if got := r.Header.Get(name); !slices.Contains(values, got) {
			return fmt.Errorf("header %s is %q, want %q", name, got, values[0])
		}
	}
	return nil
}

// match compares a path with a template and returns the values of its names. A branch at
// its end may have slashes.
func match(template, path string) (map[string]string, bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if strings.HasSuffix(template, "/{branch}") && len(got) > len(want) {
		got = strings.SplitN(path, "/", len(want))
	}
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
	if op.BodyOptional && len(data) == 0 {
		return nil
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("%s: body: %w", op.Name, err)
	}
	if err := op.Body.checkObject("body field ", body); err != nil {
		return fmt.Errorf("%s: %w", op.Name, err)
	}
	if len(op.Body.AnyOf) == 0 {
		return nil
	}
	var errs []error
	for _, demand := range op.Body.AnyOf {
		err := demand.checkFields(body)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s: %w", op.Name, errors.Join(errs...))
}

// checkFields checks only the fields that a demand names.
func (s valueSchema) checkFields(body map[string]any) error {
	for _, name := range s.Required {
		if _, ok := body[name]; !ok {
			return fmt.Errorf("body field %s is missing", name)
		}
	}
	for name, demand := range s.Properties {
		if text, ok := body[name].(string); ok && !slices.Contains(demand.Enum, text) {
			return fmt.Errorf("body field %s is %q", name, text)
		}
	}
	return nil
}

// checkObject checks fields; what names them in errors.
func (s valueSchema) checkObject(what string, object map[string]any) error {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s%s is missing", what, name)
		}
	}
	for name, value := range object {
		field, ok := s.Properties[name]
		if !ok && len(s.Properties) > 0 {
			return fmt.Errorf("unknown %s%s", what, name)
		}
		if err := field.check(value); ok && err != nil {
			return fmt.Errorf("%s%s: %w", what, name, err)
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
		return fmt.Errorf("%q is not an integer", text)
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
	case map[string]any:
		if s.Type == "object" {
			return s.checkObject("", v)
		}
	case []any:
		if s.Type == "array" {
			return s.checkItems(v)
		}
	}
	return fmt.Errorf("%v is no %s", value, s.Type)
}

func (s valueSchema) checkItems(list []any) error {
	if s.MaxItems > 0 && len(list) > s.MaxItems {
		return fmt.Errorf("%d items, more than %d", len(list), s.MaxItems)
	}
	for i, item := range list {
		if err := s.Items.check(item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
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
			return fmt.Errorf("%q is not a time", v)
		}
	}
	return nil
}
