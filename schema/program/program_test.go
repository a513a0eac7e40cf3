package program_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema/program"
)

func finder(files fstest.MapFS) *program.Finder {
	return &program.Finder{FS: files, Skip: func(name string, _ bool) bool { return strings.HasSuffix(name, ".yaml") }}
}

func tree(names ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, name := range names {
		out[name] = &fstest.MapFile{Data: []byte(name[strings.LastIndexByte(name, '/')+1:])}
	}
	return out
}

// TestBuild: a program consists of the named files, and of the files around them.
func TestBuild(t *testing.T) {
	files := tree("a.js", "b.mjs", "c.py", "notes.txt", "package.json", "lib/h.js", "checks/a.js", "checks/deep/d.json", "checks/s.yaml", "evals/t.yaml", "evals/j.py")
	for _, tt := range []struct {
		file   string
		around bool
		inputs []string
		want   string
	}{
		{"a.js", true, nil, "a.js b.mjs package.json"},
		{"c.py", true, nil, "c.py"},
		{"checks/a.js", true, nil, "checks/a.js checks/deep/d.json package.json"},
		{"checks/a.js", false, nil, "checks/a.js"},
		{"evals/j.py", true, []string{"lib/**", "checks/s.yaml"}, "checks/s.yaml evals/j.py lib/h.js"},
	} {
		f := finder(files)
		f.Inputs = tt.inputs
		got, err := f.Build(".", []program.Part{{File: tt.file, Around: tt.around}})
		if err != nil || strings.Join(got.Paths(), " ") != tt.want {
			t.Errorf("%s is made of %v, %v, want %s", tt.file, got.Paths(), err, tt.want)
		}
	}
}

// TestSum: a program that moves along with its files is the same, and a name counts.
func TestSum(t *testing.T) {
	sum := func(dir string, names ...string) string {
		got, err := finder(tree(names...)).Build(dir, []program.Part{{File: names[0], Around: true}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Sum
	}
	was := sum("one", "one/j.py", "one/lib.py")
	if moved := sum("two/deep", "two/deep/j.py", "two/deep/lib.py"); moved != was {
		t.Errorf("the moved program has the sum %s, want %s", moved, was)
	}
	if renamed := sum("one", "one/j.py", "one/deep/lib.py"); renamed == was {
		t.Errorf("with a file of another name the sum is %s still", renamed)
	}
}

// TestLeave takes out what nobody named.
func TestLeave(t *testing.T) {
	got, err := finder(tree("a/j.py", "a/p.txt", "a/t.csv")).Build("a", []program.Part{{File: "a/j.py", Around: true}, {File: "a/t.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	was := got.Sum
	got.Leave(map[string]bool{"a/p.txt": true, "a/t.csv": true})
	if names := strings.Join(got.Paths(), " "); names != "a/j.py a/t.csv" || got.Sum == was {
		t.Errorf("left are %s with the sum %s, want the named ones with another sum", names, got.Sum)
	}
}

// BenchmarkBuild is of a program in a folder of a thousand files, whose hashes are known.
func BenchmarkBuild(b *testing.B) {
	names := []string{"checks/j.py"}
	for i := range 1000 {
		names = append(names, fmt.Sprintf("checks/%d/part.py", i))
	}
	files := tree(names...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := finder(files).Build("checks", []program.Part{{File: "checks/j.py", Around: true}}); err != nil {
			b.Fatal(err)
		}
	}
}
