package main

import (
	"slices"
	"testing"
)

func TestConcurrent(t *testing.T) {
	for _, tt := range []struct {
		code, tests string
		want        bool
	}{
		{"func f() { g() }", "func TestF() { f() }", false},
		{"func f() { go g() }", "func TestF() { f() }", true},
		{"func f() { go g() }", "", false}, // has no tests
		{"func f() { g() }", "func TestF() { go f() }", true},
		{"func f() { g() }", "func TestF(t *testing.T) { t.Parallel() }", true},
		{"func f(c chan int) { close(c) }", "func TestF() { f() }", true},
		{"func f() int { return <-c() }", "func TestF() { f() }", true},
		{"func f() { time.AfterFunc(1, g) }", "func TestF() { f() }", true},
		{"func f() { group.Go(g) }", "func TestF() { f() }", true},
		{"func f() { g() }", "func TestF() { httptest.NewServer(f) }", true},
		{"import \"sync\"\nvar mu sync.Mutex", "func TestF() { f() }", false}, // who calls it from goroutines is watched
		{"import \"net/url\"\nvar u url.URL", "func TestF() { f() }", false},
		{"var a int", "import \"" + module + "/x/servertest\"\nfunc TestF() { servertest.New() }", true},
		{"var a int", "import \"" + module + "/x/servertest\"\nfunc TestF() { servertest.Shared() }", true},
		{"var a int", "import \"" + module + "/x/servertest\"\nfunc TestF() { f(servertest.Server{}) }", true},
		{"var a int", "import \"" + module + "/x/servertest\"\nfunc TestF() { f(servertest.Clock{}, servertest.Port) }", false},
		{"var a int", "import \"" + module + "/x/plaintest\"\nfunc TestF() { plaintest.New() }", false},
	} {
		files := []source{
			parse(t, "a/a.go", "package a\n"+tt.code+"\n"),
			parse(t, "x/servertest/a.go", "package servertest\nfunc New() { go f() }\nvar Shared = once(func() { New() })\ntype Server struct{}\nfunc (s *Server) Run() { New() }\ntype Clock struct{}\nfunc (c *Clock) Now() {}\nconst Port = 1\n"),
			parse(t, "x/plaintest/a.go", "package plaintest\nfunc New() { f() }\n"),
		}
		if tt.tests != "" {
			files = append(files, parse(t, "a/a_test.go", "package a\n"+tt.tests+"\n"))
		}
		if got := slices.Contains(concurrent(files), "a"); got != tt.want {
			t.Errorf("%s with the tests %q is watched: %v, want %v", tt.code, tt.tests, got, tt.want)
		}
	}
}
