package forgetest

import (
	"net/url"
	"strings"
	"testing"
)

func TestConforms(t *testing.T) {
	const status = "/repos/octo/demo/statuses/abc"
	tests := []struct {
		name, method, path, query, body string
		// want is a part of the error, "" for none.
		want string
	}{
		{name: "comment", method: "POST", path: "/repos/o/d/issues/7/comments", body: `{"body":"x"}`},
		{name: "enterprise", method: "GET", path: "/api/v3/user"},
		{name: "gitea", method: "GET", path: "/api/v1/users/somebody"},
		{name: "paging", method: "GET", path: "/repos/o/d/issues/7/comments", query: "per_page=100&page=2"},
		{name: "null where allowed", method: "POST", path: status, body: `{"state":"success","target_url":null}`},
		{name: "unknown operation", method: "GET", path: "/repos/o/d/stargazers", want: "no operation"},
		{name: "wrong method", method: "PUT", path: "/repos/o/d/issues/comments/1", want: "no operation"},
		{name: "number that is none", method: "GET", path: "/repos/o/d/pulls/seven", want: "no integer"},
		{name: "unknown parameter", method: "GET", path: "/repos/o/d/issues/7/comments", query: "sort=created", want: "unknown query parameter sort"},
		{name: "wrong type of parameter", method: "GET", path: "/repos/o/d/issues/7/comments", query: "page=first", want: "no integer"},
		{name: "bad time", method: "GET", path: "/repos/o/d/issues/7/comments", query: "since=yesterday", want: "no time"},
		{name: "body missing", method: "POST", path: "/repos/o/d/issues/7/comments", want: "body"},
		{name: "body where none is", method: "DELETE", path: "/repos/o/d/issues/comments/1", body: `{}`, want: "takes no body"},
		{name: "required field missing", method: "POST", path: status, body: `{"context":"x"}`, want: "state is missing"},
		{name: "unknown field", method: "POST", path: status, body: `{"state":"success","url":"x"}`, want: "unknown body field url"},
		{name: "bad enum", method: "POST", path: status, body: `{"state":"green"}`, want: "none of error, failure, pending, success"},
		{name: "wrong type", method: "POST", path: status, body: `{"state":"success","context":1}`, want: "no string"},
		{name: "null where not allowed", method: "POST", path: status, body: `{"state":null}`, want: "no string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			query, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			err = Conforms(Request{Method: tt.method, Path: tt.path, Query: query, Body: []byte(tt.body)})
			if tt.want == "" && err != nil {
				t.Errorf("unexpected: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestEveryFactIsRead keeps the extracted file and the checker from drifting
// apart: a fact of a kind that the checker does not know would be ignored.
func TestEveryFactIsRead(t *testing.T) {
	d, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) == 0 {
		t.Fatal("no operations")
	}
	for _, op := range d.Operations {
		for _, p := range op.Parameters {
			if p.In != "path" && p.In != "query" || p.Schema.Type == "" {
				t.Errorf("%s: parameter %s: in %q, type %q", op.Name, p.Name, p.In, p.Schema.Type)
			}
		}
		if op.Body == nil {
			continue
		}
		for name, s := range op.Body.Properties {
			if s.Type == "" {
				t.Errorf("%s: body field %s has no type", op.Name, name)
			}
		}
	}
}
