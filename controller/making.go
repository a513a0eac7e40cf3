package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// makingTime is the time limit of a program that makes a part of a definition.
const makingTime = time.Minute

// roleMaking is the role of its calls in the ledger, and makingVersion is raised when the same
// program would make something else.
const (
	roleMaking    = "definition"
	makingVersion = 1
)

// A Making says how programs run that make parts of definitions, such as their tests. The zero
// Making runs none.
type Making struct {
	// Programs returns what runs programs; nil runs none.
	Programs func(context.Context) (*ProgramRunner, error)
	// Never is the reason why no program starts at all; empty for none.
	Never string
	// Withheld reports whether the programs of head do not start unless they are as at base, and
	// until when, as the ending of that sentence, which is empty if an approval does not help;
	// nil starts them.
	Withheld func(context.Context) (until string, withheld bool)
}

// Maker returns what runs the programs of a state under a trust. The ledger may be nil: then each
// process runs them once.
func (m Making) Maker(l *ledger.Ledger, trust ledger.Trust) schema.Maker {
	if m.Programs == nil {
		return nil
	}
	return &maker{Making: m, ledger: l, trust: trust, known: map[string][]byte{}}
}

// makers gives both sides of a request what makes parts of their definitions.
func (r *Request) makers() {
	if r.Making.Programs == nil {
		return
	}
	var base *maker
	if r.Base != nil {
		side := *r.Base
		base = &maker{Making: r.Making, ledger: r.Ledger, trust: r.BaseTrust, known: map[string][]byte{}}
		side.Maker = base
		r.Base = &side
	}
	r.Head.Maker = &maker{Making: r.Making, ledger: r.Ledger, trust: r.HeadTrust, known: map[string][]byte{}, isHead: true, base: base, changed: r.Changed}
}

// A maker runs the programs of one side.
type maker struct {
	Making
	ledger *ledger.Ledger
	trust  ledger.Trust
	isHead bool
	// base is what makes parts of base's definitions, for head's maker, and may be nil; changed
	// lists the files that differ.
	base    *maker
	changed func(ctx context.Context, outside []string) ([]string, error)

	mu    sync.Mutex // guards the fields below, and lets one program run at a time
	known map[string][]byte
	box   *sandbox.Box // nil before the first program
}

// Make implements [schema.Maker].
func (m *maker) Make(ctx context.Context, of schema.Making) ([]byte, error) {
	digest, err := m.digest(of)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made, known := m.known[digest]; known {
		return made, nil
	}
	made, err := m.stored(ctx, digest)
	if made == nil && err == nil {
		made, err = m.fresh(ctx, of, digest)
	}
	if err == nil {
		m.known[digest] = made
	}
	return made, err
}

// digest identifies a program with its files and its input.
func (m *maker) digest(of schema.Making) (string, error) {
	raw, err := json.Marshal(struct {
		Version    int
		Program    schema.PromptProgram
		Unconfined bool
	}{makingVersion, of.PromptProgram, m.ledger != nil && m.ledger.Unconfined()})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), err
}

// stored returns what the program printed before, or nil.
func (m *maker) stored(ctx context.Context, digest string) ([]byte, error) {
	if m.ledger == nil {
		return nil, nil
	}
	calls, err := m.ledger.Calls(ctx, ledger.Scope{Trust: m.trust}, digest, 0)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	return calls[0].Reply, nil
}

// fresh runs a program if it may run, and stores what it prints.
func (m *maker) fresh(ctx context.Context, of schema.Making, digest string) ([]byte, error) {
	if m.Never != "" {
		return nil, &schema.UnmadeError{Reason: m.Never, Hint: byFile}
	}
	if m.isHead && m.Withheld != nil {
		if made, asBase, err := m.ofBase(ctx, of); asBase || err != nil {
			return made, err
		}
	}
	made, err := m.run(ctx, of)
	if err != nil || m.ledger == nil || hasErrors(made) {
		return made, err
	}
	request, err := json.Marshal(map[string]any{"definition": of.Definition, "program": of.Name()})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(request)
	return made, m.ledger.SaveCall(ctx, m.trust, ledger.Call{
		Key: ledger.CallKey{Digest: digest, Role: roleMaking}, RequestDigest: hex.EncodeToString(sum[:]), Request: request, Reply: made, At: time.Now(),
	})
}

// byFile is the repair that needs no program.
const byFile = "write what it makes into a file of JSON or YAML, and name that"

// ofBase has base make what head has as base has it, so that it is made once and for all. What
// head has otherwise is refused if its programs must not start.
func (m *maker) ofBase(ctx context.Context, of schema.Making) (made []byte, asBase bool, err error) {
	file := of.Definition
	if m.base != nil {
		changed, err := m.changed(ctx, nil)
		if err != nil {
			return nil, false, err
		}
		if file = firstChanged(of, changed); file == "" {
			made, err = m.base.Make(ctx, of)
			return made, true, err
		}
	}
	until, withheld := m.Withheld(ctx)
	if !withheld {
		return nil, false, nil
	}
	return nil, true, &schema.UnmadeError{
		Reason: fmt.Sprintf("it starts a program, and %s is changed here: programs run as base has them%s", file, until),
		Hint:   "have somebody with write access approve the head, or " + byFile,
		Waits:  until != "",
	}
}

// firstChanged returns the first changed file on which a program depends, or which a folder of
// its files had.
func firstChanged(of schema.Making, changed []string) string {
	if file := of.Changed(changed); file != "" {
		return file
	}
	folders := map[string]bool{}
	for _, name := range of.Built.Paths() {
		folders[path.Dir(name)] = true
	}
	i := slices.IndexFunc(changed, func(name string) bool {
		_, err := fs.Stat(of.FS, name)
		return folders[path.Dir(name)] && errors.Is(err, fs.ErrNotExist)
	})
	if i < 0 {
		return ""
	}
	return changed[i]
}

// hasErrors reports whether a function failed in a call. That may be the machine's fault.
func hasErrors(made []byte) bool {
	var values []struct{ Error string }
	return json.Unmarshal(made, &values) != nil || slices.ContainsFunc(values, func(v struct{ Error string }) bool { return v.Error != "" })
}

// run runs a program in the sandbox, which has its files alone.
func (m *maker) run(ctx context.Context, of schema.Making) (made []byte, err error) {
	if m.box == nil {
		runner, err := m.Programs(ctx)
		if err != nil {
			return nil, err
		}
		if m.box, err = runner.open(); err != nil {
			return nil, &schema.UnmadeError{Reason: err.Error(), Hint: byFile}
		}
	}
	tree, err := sandbox.NewFolder("", "making")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Remove()) }()
	if err := writeFiles(of, tree.Path); err != nil {
		return nil, fmt.Errorf("write the files of the program: %w", err)
	}
	printed, err := m.box.Run(ctx, sandbox.Program{
		Argv: of.Argv, Tree: tree.Path, Dir: filepath.Join(tree.Path, filepath.FromSlash(of.Dir)), Stdin: of.Stdin, Limits: sandbox.Limits{Time: makingTime},
	})
	if err == nil && !json.Valid(printed) {
		err = errors.New("what it prints is not JSON")
	}
	return printed, err
}

// writeFiles writes the files that a program sees.
func writeFiles(of schema.Making, root string) error {
	if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(of.Dir)), 0o755); err != nil {
		return err
	}
	left := int64(maxTree)
	for _, name := range of.Built.Paths() {
		data, err := schema.ReadFile(of.FS, name, gitrepo.MaxFile)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if left -= int64(len(data)); left < 0 {
			return fmt.Errorf("they have more than %d MiB", maxTree>>20)
		}
		to := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// loading returns the options under which a checkout's definitions are loaded.
func (c Checkout) loading() load.Options {
	return load.Options{Settings: c.Config.Settings(), Maker: c.Maker}
}
