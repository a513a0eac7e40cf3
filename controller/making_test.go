package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

// makings is a ledger and a program that counts its starts.
type makings struct {
	t       *testing.T
	ledger  *ledger.Ledger
	counter string
}

func newMakings(t *testing.T) makings {
	l, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return makings{t, l, filepath.Join(t.TempDir(), "starts")}
}

// of is a program that prints a text, and is made of a file with some content.
func (m makings) of(content, prints string) schema.Making {
	return schema.Making{
		PromptProgram: schema.PromptProgram{
			Argv: []string{"sh", "gen/gen.sh"}, Dir: ".", Stdin: []byte(`{"calls": [[]]}`),
			Built: schema.NewProgramFiles(".", nil, []schema.ProgramFile{{Path: "gen/gen.sh", Hash: content}}),
		},
		FS:         fstest.MapFS{"gen/gen.sh": {Data: fmt.Appendf(nil, "cat >/dev/null; echo >>%s; echo '%s'", m.counter, prints)}},
		Definition: "d/config.yaml", Reads: []string{"d/words.yaml"},
	}
}

// side is one side of a new process. changed are the files that differ, and until is when they
// may start; empty starts them.
func (m makings) side(isHead bool, pull int, until string, changed ...string) schema.Maker {
	req := Request{
		Ledger: m.ledger, Base: &Checkout{}, HeadTrust: ledger.Trust{Level: ledger.LevelPull, Repository: "a/b", PullRequest: pull}, BaseTrust: ledger.Trust{Level: ledger.LevelBase, Repository: "a/b"},
		Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
		Making: Making{
			Programs: func(ctx context.Context) (*ProgramRunner, error) {
				return NewProgramRunner(ctx, ProgramsConfig{Policy: sandbox.Policy{Accept: sandbox.Off}, Log: func(string) {}}), nil
			},
			Withheld: func(context.Context) (string, bool) { return until, until != "" },
		},
	}
	req.makers()
	if isHead {
		return req.Head.Maker
	}
	return req.Base.Maker
}

// wants has a side make something, and compares it, the error and how often programs started so
// far.
func (m makings) wants(step string, by schema.Maker, of schema.Making, want string, starts int) {
	m.t.Helper()
	made, err := by.Make(m.t.Context(), of)
	got := strings.TrimSpace(string(made))
	if err != nil {
		got = err.Error()
	}
	count, _ := os.ReadFile(m.counter) // missing before the first
	if n := strings.Count(string(count), "\n"); got != want || n != starts {
		m.t.Errorf("%s: %q after %d starts, want %q after %d", step, got, n, want, starts)
	}
}

// TestMakings: what a program made is stored under its files, its input and the trust of who ran
// it. A head that waits for approval gets what base has, and starts nothing of its own.
func TestMakings(t *testing.T) {
	m := newMakings(t)
	const one, two, until = `[{"value": 1}]`, `[{"value": 2}]`, " until the head is approved"
	was, is := m.of("1", one), m.of("2", two)
	m.wants("base makes it", m.side(false, 7, ""), was, one, 1)
	m.wants("base has it stored", m.side(false, 7, ""), was, one, 1)
	m.wants("a head reads base's", m.side(true, 7, "", "gen/gen.sh"), was, one, 1)
	m.wants("a stranger's head reads base's", m.side(true, 8, until, "gen/gen.sh"), was, one, 1)
	refused := "it starts a program, and %s is changed here: programs run as base has them until the head is approved"
	for _, file := range []string{"gen/gen.sh", "d/config.yaml", "d/words.yaml", "gen/gone.sh"} {
		m.wants("a stranger's change of "+file, m.side(true, 8, until, "x", file), is, fmt.Sprintf(refused, file), 1)
	}
	m.wants("a writer's head makes its own", m.side(true, 7, "", "gen/gen.sh"), is, two, 2)
	m.wants("it has it stored", m.side(true, 7, "", "gen/gen.sh"), is, two, 2)
	m.wants("another head does not read it", m.side(true, 8, until, "gen/gen.sh"), is, fmt.Sprintf(refused, "gen/gen.sh"), 2)
	m.wants("nor does an approved one", m.side(true, 8, "", "gen/gen.sh"), is, two, 3)
	m.wants("nor does base", m.side(false, 7, ""), is, two, 4)
	other := m.of("3", one)
	m.wants("a stranger's head has base make what it did not change", m.side(true, 8, until, "other/file"), other, one, 5)
	m.wants("which is base's then", m.side(false, 7, ""), other, one, 5)
	other.Stdin = []byte(`{"calls": [[1]]}`)
	m.wants("another input", m.side(false, 7, ""), other, one, 6)
}

// TestMakingsThatFail are not stored, since the machine may be the reason.
func TestMakingsThatFail(t *testing.T) {
	m := newMakings(t)
	fails := m.of("1", `[{"error": "no module"}]`)
	m.wants("a function that fails", m.side(false, 7, ""), fails, `[{"error": "no module"}]`, 1)
	m.wants("again", m.side(false, 7, ""), fails, `[{"error": "no module"}]`, 2)
	m.wants("text", m.side(false, 7, ""), m.of("2", "text"), "what it prints is not JSON", 3)
	never := m.side(false, 7, "").(*maker)
	never.Never = "the operator allows none"
	_, err := never.Make(t.Context(), m.of("3", "[]"))
	if unmade, ok := errors.AsType[*schema.UnmadeError](err); !ok || unmade.Reason != never.Never {
		t.Errorf("the error is %v, want that no program may start", err)
	}
}
