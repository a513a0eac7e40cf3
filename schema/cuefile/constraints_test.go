package cuefile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/golden"
)

// talk is a schema that constraints build on.
const talk = `package talk

import "strings"

#Talk: {
	name!:    strings.MaxRunes(255)
	tags?:    [...string]
	status?:  "draft" | "active"
	speaker?: #Speaker | null
	extra?:   _
	$id?:     string
}

#Speaker: {
	type!:  string
	about?: string | null
}

#Other: {x?: int}
`

func constraints(t *testing.T, texts ...string) (*cuefile.Constraints, error) {
	t.Helper()
	var files []cuefile.File
	for i, text := range texts {
		files = append(files, cuefile.File{Name: fmt.Sprintf("%c.cue", 'a'+i), Data: []byte(text)})
	}
	return unbounded.Compile(t.Context(), []cuefile.File{{Name: "talk.cue", Data: []byte(talk)}}, files)
}

// TestConstraints holds what constraints say of values.
func TestConstraints(t *testing.T) {
	const owner = "import \"list\"\n#Talk: tags: list.MatchN(>0, =~\"^owner:\") | error(\"every talk needs an owner tag\")\n"
	for _, tt := range []struct{ name, rules, value, want string }{
		{"holds", owner, `{"name": "x", "tags": ["owner:me"], "other": 1}`, ""},
		{"own message", owner, `{"name": "x", "tags": ["me"]}`, "tags: every talk needs an owner tag (own) a.cue:2:45"},
		{"missing", owner, `{"name": "x"}`, "tags: every talk needs an owner tag (missing) (own) a.cue:2:8"},
		{"a comment", "#Talk: {\n\t// Names begin\n\t// with A.\n\tname: =~\"^A\"\n}\n", `{"name": "x"}`, "name: Names begin with A (own) a.cue:4:8"},
		{"a computed message", "#Talk: {name: _, if len(name) < 3 {name: error(\"\\(name) is short\")}}\n", `{"name": "x"}`, "name: x is short (own) a.cue:1:42"},
		{"no message", "#Talk: name: =~\"^A\"\n", `{"name": "x"}`, `name: invalid value "x" (out of bound =~"^A") a.cue:1:14`},
		{"one of", "#Talk: name: \"a\" | \"b\"\n", `{"name": "x"}`, "name: the value is not one of those that are allowed here a.cue:1:14"},
		{"may be left out", "#Talk: status?: \"active\"\n", `{"name": "x"}`, ""},
		{"a value is not filled in", "#Talk: status: \"active\"\n", `{"name": "x"}`, "status: field is required but not present (missing) a.cue:1:8"},
		{"a part", "#Speaker: about: =~\"a\"\n", `{"name": "x", "speaker": {"type": "t", "about": "b"}}`, `speaker/about: invalid value "b" (out of bound =~"a") a.cue:1:18`},
		{"no part", "#Speaker: about: =~\"a\"\n", `{"name": "x", "speaker": null}`, ""},
		{"inside a value", "#Talk: extra?: {items: [...{id: >1}]}\n", `{"name": "x", "extra": {"more": 1, "items": [{"id": 2, "b": 1}, {"id": 1}]}}`, `extra/items/1/id: invalid value 1 (out of bound >1) a.cue:1:33`},
		{"a condition", "#Talk: {name: _, if name == \"x\" {tags: [_, ...]}}\n", `{"name": "x"}`, "tags: field is required but not present (missing) a.cue:1:34"},
		{"forbidden", "#Talk: status?: error(\"all talks are active\")\n", `{"name": "x", "status": "draft"}`, "status: all talks are active (own) a.cue:1:17"},
		{"a quoted name", "#Talk: \"$id\": =~\"a\"\n", `{"name": "x", "$id": "b"}`, `$id: invalid value "b" (out of bound =~"a") a.cue:1:15`},
		{"another type", "#Talk: extra: string\n", `{"name": "x", "extra": 5}`, "extra: it must be a string, not a whole number a.cue:1:15"},
		{"another type of a part", "#Talk: extra: [...{id: int}]\n", `{"name": "x", "extra": [{"id": 1}, {"id": "a"}]}`, "extra/1/id: it must be a whole number, not a string a.cue:1:24"},
		{"a condition on nothing", "#Talk: {\n\tstatus?: _\n\t// drafts have tags\n\tif status == \"draft\" {tags: [_, ...]}\n}\n", `{"name": "x"}`, ": a constraint looks at `status`, which is not here: add it, or begin the condition with if status != _|_ (own) a.cue:4:5"},
		{"a condition with a guard", "#Talk: {\n\tstatus?: _\n\tif status != _|_ if status == \"draft\" {tags: [_, ...]}\n}\n", `{"name": "x"}`, ""},
		{"names of its own", "package team\n_short: =~\"^.$\"\n_#Long: =~\"..\"\n#Talk: name: _#Long & !~\"y\"\n", `{"name": "x"}`, `name: invalid value "x" (out of bound =~"..") a.cue:3:9`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := constraints(t, tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Touches("#Talk") || c.Touches("#Other") {
				t.Errorf("touches #Talk: %v, #Other: %v", c.Touches("#Talk"), c.Touches("#Other"))
			}
			found, err := c.Check(t.Context(), "#Talk", []byte(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found {
				line := strings.Join(v.Path, "/") + ": " + v.Message
				if v.Missing {
					line += " (missing)"
				}
				if v.Own {
					line += " (own)"
				}
				got = append(got, line+" "+v.By.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConstraintsThatCannotBeUsed holds the messages about them against
// testdata/constraints.txt.
func TestConstraintsThatCannotBeUsed(t *testing.T) {
	var got strings.Builder
	for _, tt := range []struct {
		name  string
		files []string
	}{
		{"syntax", []string{"#Talk: {\n"}},
		{"a reference", []string{"_x: 1", "#Talk: name: _y\n"}},
		{"a package not imported", []string{"#Talk: name: strings.MinRunes(2)\n"}},
		{"a package not used", []string{"import \"strings\"\n#Talk: name: _\n"}},
		{"a package from elsewhere", []string{"import \"example.com/x\"\n#Talk: name: x.Y\n"}},
		{"a file", []string{"@extern(embed)\n#Talk: name: _ @embed(file=\"/etc/passwd\")\n"}},
		{"no definition", []string{"talk: name: =~\"a\"\n"}},
		{"never", []string{"#Talk: name: 5\n"}},
		{"a pattern", []string{"#Talk: name: =~\"[\" | !~\"a\"\n#Talk: {name: _, if name =~ \"(\" {tags: _}}\n"}},
		{"never of several", []string{"#Talk: status: \"odd\"\n#Talk: speaker?: string\n"}},
		{"never a number", []string{"#Other: x: >5 & <3\n"}},
		{"all of several files", []string{"#Talk: {\n", "talk: 1\n"}},
	} {
		_, err := constraints(t, tt.files...)
		var problems cuefile.FileProblems
		if !errors.As(err, &problems) {
			t.Errorf("%s: got %v, want problems", tt.name, err)
		}
		fmt.Fprintln(&got, tt.name)
		for _, p := range problems {
			fmt.Fprintf(&got, "  %s %s: %s; %s\n", p.At, p.Rule, p.Message, p.Hint)
		}
	}
	golden.Compare(t, "testdata/constraints.txt", got.String())
}

// TestConstraintsEnd holds that constraints without an end cost nothing but
// themselves, and that the file is found that has none: by itself, or with a
// value.
func TestConstraintsEnd(t *testing.T) {
	const (
		fine    = "#Talk: name: =~\"x\"\n"
		endless = "import \"strings\"\n#Talk: name: =~strings.Repeat(\"x\", 1000000000)\n"
	)
	_, err := constraints(t, fine, endless)
	said := ""
	if err == nil {
		c, compileErr := constraints(t, fine, endless)
		if compileErr != nil {
			t.Fatal(compileErr)
		}
		_, err = c.Check(t.Context(), "#Talk", []byte(`{"name": "x", "tags": []}`))
		said = "only with a value: "
	}
	var problems cuefile.FileProblems
	if !errors.As(err, &problems) || len(problems) != 1 || problems[0].At.File != "b.cue" || problems[0].Rule != "cue-limit" {
		t.Fatalf("%sgot %v, want a limit in b.cue", said, err)
	}
	c, err := constraints(t, fine)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := c.Check(t.Context(), "#Talk", []byte(`{"name": "y"}`)); err != nil || len(found) != 1 {
		t.Errorf("after that: %v %v", found, err)
	}
}
