package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/program"
)

// targetOf is a command target with the given command line and no inputs.
func targetOf(t *testing.T, argv string) config.Target {
	t.Helper()
	cfg, _ := config.Parse("gavel.yaml", []byte(fmt.Sprintf("version: 1\ntargets: {bot: {provider: command, argv: [%s]}}\n", argv)))
	return cfg.Targets["bot"]
}

func tree(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, name := range files {
		out[name] = &fstest.MapFile{Data: []byte(name)}
	}
	return out
}

func read(t *testing.T, files fstest.MapFS, argv string) source.Source {
	t.Helper()
	s, err := source.Read(t.Context(), source.State{FS: files, Config: config.Default(), ConfigFile: "gavel.yaml"}, targetOf(t, argv))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func names(s source.Source) string {
	var all []string
	for _, f := range s.Facts(nil) {
		all = append(all, strings.TrimPrefix(f.Name, "input "))
	}
	return strings.Join(all, " ")
}

// TestTheFolderOfAProgram is the folder of each file that the command line names.
func TestTheFolderOfAProgram(t *testing.T) {
	files := tree(
		"agent/main.py", "agent/prompts/tone.txt", "config/agent.toml", "lib/other.py", "run", "bot.py", "words.py",
		"gavel.yaml", "test_definitions/talk/domain.json", ".github/workflows/ci.yml", ".gavel/ledger.db", "notes/draft.md",
	)
	files[".gavelignore"] = &fstest.MapFile{Data: []byte("notes/\n")}
	for _, tt := range []struct{ argv, want string }{
		{"python3, agent/main.py", "agent/main.py agent/prompts/tone.txt"},
		{"python3, ./agent/main.py, --config, config/agent.toml", "agent/main.py config/agent.toml agent/prompts/tone.txt"},
		{"agent/prompts/tone.txt, agent/main.py", "agent/main.py agent/prompts/tone.txt"},
		{"./run", "run"},
		{"python3, bot.py", "bot.py words.py"},
		{"python3, bot.py, --config, config/agent.toml", "bot.py config/agent.toml words.py"},
		{"python3, agent/main.py], inputs: ['notes/*', lib/other.py", "agent/main.py lib/other.py notes/draft.md agent/prompts/tone.txt"},
		{"npx, agent], inputs: ['lib/**'", "lib/other.py"},
		{"python3, -m, agent.main", "agent/main.py agent/prompts/tone.txt bot.py config/agent.toml lib/other.py run words.py"},
	} {
		if got := names(read(t, files, tt.argv)); got != tt.want {
			t.Errorf("%s is built from\n%s, want\n%s", tt.argv, got, tt.want)
		}
	}
}

// TestCounts says which changes are changes of the program, of files that are
// gone, too.
func TestCounts(t *testing.T) {
	files := tree("agent/main.py", "agent/evals/a.json")
	files[".gavelignore"] = &fstest.MapFile{Data: []byte("*.log\nagent/evals/\n")}
	s := read(t, files, "python3, agent/main.py")
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"agent/main.py", true}, {"agent/gone/tone.txt", true}, {"agent", true}, {"agents/x", false}, {"gavel.yaml", false},
		{"agent/x.log", false}, {"agent/evals/a.json", false}, {"agent/evals/deep/b.json", false},
	} {
		if got := s.Counts(tt.name); got != tt.want {
			t.Errorf("%s counts: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestManyFilesAreOneFact that names the file which is another one.
func TestManyFilesAreOneFact(t *testing.T) {
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("agent/part_%02d.py", i))
	}
	base := read(t, tree(append(all, "agent/main.py")...), "python3, agent/main.py")
	facts := base.Facts(nil)
	if len(facts) != 2 || facts[1].Name != "files of agent" || facts[1].File != "agent" {
		t.Fatalf("facts %+v", facts)
	}
	edited := tree(append(all, "agent/main.py")...)
	edited["agent/part_07.py"] = &fstest.MapFile{Data: []byte("another")}
	for _, tt := range []struct {
		name string
		head fstest.MapFS
	}{
		{"agent/part_07.py", edited},
		{"agent/new.py", tree(append(all, "agent/main.py", "agent/new.py")...)},
		{"agent/part_00.py", tree(append(all[1:], "agent/main.py")...)},
	} {
		got := read(t, tt.head, "python3, agent/main.py").Facts(&base)[1]
		if got.File != tt.name || got.Value == facts[1].Value || got.Name != facts[1].Name {
			t.Errorf("after a change of %s: %+v", tt.name, got)
		}
	}
	if diff := cmp.Diff(facts, read(t, tree(append(all, "agent/main.py", "elsewhere")...), "python3, agent/main.py").Facts(&base)); diff != "" {
		t.Errorf("a change elsewhere (-want +got):\n%s", diff)
	}
}

// A hashing tree knows what its files hold, and counts those that are read.
type hashing struct {
	fstest.MapFS
	reads int
}

func (h *hashing) Hash(name string) (string, error) { return string(h.MapFS[name].Data), nil }

func (h *hashing) ReadFile(name string) ([]byte, error) {
	if strings.HasPrefix(name, "agent/") {
		h.reads++
	}
	return h.MapFS.ReadFile(name)
}

// TestFilesThatGitKnowsAreNotRead but for the one that the command line names.
func TestFilesThatGitKnowsAreNotRead(t *testing.T) {
	all := []string{"agent/main.py"}
	for i := range 500 {
		all = append(all, fmt.Sprintf("agent/%d/part.py", i))
	}
	files := &hashing{MapFS: tree(all...)}
	s, err := source.Read(t.Context(), source.State{FS: files, Config: config.Default(), ConfigFile: "gavel.yaml"}, targetOf(t, "python3, agent/main.py"))
	if err != nil || len(s.Files()) != 500 || files.reads != 1 {
		t.Errorf("%d files, %d of them read, %v", len(s.Files()), files.reads, err)
	}
}

// A closing file system ends a context when so many files were read, and counts those that are
// read after that.
type closing struct {
	fstest.MapFS
	left  *int
	after *int
	end   context.CancelFunc
}

// ReadFile reads a file.
func (c closing) ReadFile(name string) ([]byte, error) {
	if *c.left--; *c.left == 0 {
		c.end()
	} else if *c.left < 0 {
		*c.after++
	}
	return c.MapFS.ReadFile(name)
}

// TestHashingEnds: no file is hashed once the context has ended.
func TestHashingEnds(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 500 {
		files[fmt.Sprintf("agent/%d.txt", i)] = &fstest.MapFile{Data: []byte("text")}
	}
	for _, target := range []config.Target{
		{Name: "bot", Inputs: []string{"agent/**"}},
		{Name: "bot", Provider: config.Command, Argv: []string{"sh", "agent/1.txt"}, Inputs: []string{"agent/1.txt"}, Implied: true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		left, after := 20, 0
		if target.Implied {
			left = 5
		}
		_, err := source.Read(ctx, source.State{FS: closing{files, &left, &after, cancel}, Config: config.Default(), ConfigFile: "gavel.yaml"}, target)
		if !errors.Is(err, context.Canceled) || after > 0 {
			t.Errorf("implied %v: Read = %v after %d more files; want %v after none", target.Implied, err, after, context.Canceled)
		}
		cancel()
	}
}

// BenchmarkThousandFiles finds the files of a program in a folder of a thousand: a
// target's, and one that judges.
func BenchmarkThousandFiles(b *testing.B) {
	files := fstest.MapFS{"checks/j.py": {Data: []byte("j")}}
	for i := range 1000 {
		files[fmt.Sprintf("checks/%d/part.py", i)] = &fstest.MapFile{Data: []byte("part.py")}
	}
	target := config.Target{Name: "bot", Provider: config.Command, Argv: []string{"python3", "checks/j.py"}, Inputs: []string{"checks/j.py"}, Implied: true}
	b.Run("target", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := source.Read(b.Context(), source.State{FS: files, Config: config.Default(), ConfigFile: "gavel.yaml"}, target); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			finder, err := load.Programs(files, config.Default().Settings())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := finder.Build("checks", []program.Part{{File: "checks/j.py", Around: true}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
