package forgetest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestConforms(t *testing.T) {
	const status, checks = "/repos/octo/demo/statuses/abc", "/repos/octo/demo/check-runs"
	const output = `{"title":"x","summary":"y","annotations":[%s]}`
	const annotation = `{"path":"a.json","start_line":1,"end_line":1,"annotation_level":"failure","message":"m"}`
	check := func(annotations string) string {
		return `{"name":"n","head_sha":"abc","output":` + fmt.Sprintf(output, annotations) + `}`
	}
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
		{name: "number that is none", method: "GET", path: "/repos/o/d/pulls/seven", want: "not an integer"},
		{name: "unknown parameter", method: "GET", path: "/repos/o/d/issues/7/comments", query: "sort=created", want: "unknown query parameter sort"},
		{name: "wrong type of parameter", method: "GET", path: "/repos/o/d/issues/7/comments", query: "page=first", want: "not an integer"},
		{name: "bad time", method: "GET", path: "/repos/o/d/issues/7/comments", query: "since=yesterday", want: "not a time"},
		{name: "body missing", method: "POST", path: "/repos/o/d/issues/7/comments", want: "body"},
		{name: "body where none is", method: "DELETE", path: "/repos/o/d/issues/comments/1", body: `{}`, want: "takes no body"},
		{name: "required field missing", method: "POST", path: status, body: `{"context":"x"}`, want: "state is missing"},
		{name: "unknown field", method: "POST", path: status, body: `{"state":"success","url":"x"}`, want: "unknown body field url"},
		{name: "bad enum", method: "POST", path: status, body: `{"state":"green"}`, want: "none of error, failure, pending, success"},
		{name: "wrong type", method: "POST", path: status, body: `{"state":"success","context":1}`, want: "no string"},
		{name: "annotations", method: "POST", path: checks, body: check(annotation)},
		{name: "too many annotations", method: "POST", path: checks, body: check(strings.Repeat(annotation+",", 50) + annotation), want: "more than 50"},
		{name: "wrong type within", method: "POST", path: checks, body: check(strings.Replace(annotation, ":1", `:"1"`, 1)), want: "item 0: start_line"},
		{name: "unknown field within", method: "POST", path: checks, body: check(strings.Replace(annotation, "message", "text", 1)), want: "message is missing"},
		{name: "completed without a conclusion", method: "PATCH", path: checks + "/1", body: `{"status":"completed"}`, want: "conclusion is missing"},
		{name: "a conclusion completes", method: "PATCH", path: checks + "/1", body: `{"conclusion":"success"}`},
		{name: "token without a body", method: "POST", path: "/app/installations/7/access_tokens"},
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

// TestHeadersConform only looks at the headers of requests that came with some.
func TestHeadersConform(t *testing.T) {
	good := http.Header{"Accept": {"application/vnd.github+json"}, "User-Agent": {"gavel"}, "X-Github-Api-Version": {"2022-11-28"}}
	for _, tt := range []struct{ name, want string }{{"", ""}, {"Accept", "Accept is"}, {"User-Agent", "User-Agent is"}, {"X-Github-Api-Version", "X-Github-Api-Version is"}} {
		header := good.Clone()
		header.Del(tt.name)
		err := Conforms(Request{Method: "GET", Path: "/user", Header: header})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("without %s: %v, want %q", tt.name, err, tt.want)
		}
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
