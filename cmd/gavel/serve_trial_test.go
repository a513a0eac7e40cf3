package main

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// TestServeAfterACrash has the head that was looked at when the server died judged
// in a process of its own, programs and all.
func TestServeAfterACrash(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	_, log, end := j.serving(t, file)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if code := end(); code != exitPass {
		t.Fatalf("exit code %d", code)
	}
	data := filepath.Join(filepath.Dir(file), "data")
	clones, err := filepath.Glob(filepath.Join(data, "clones", "*.git"))
	if err != nil || len(clones) != 1 {
		t.Fatalf("clones %v, %v", clones, err)
	}
	id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(clones[0]), ".git"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	j.replace(t, withPrograms(), map[string]string{"elsewhere.sh": "more=more\n"})
	stateIn(t, data, func(state *ledger.ServerState) error {
		return state.AddSuspect(t.Context(), ledger.Suspect{Repository: id, Pull: 1, SHA: j.head, Noted: time.Now()})
	})
	_, log, end = j.serving(t, file)
	log.await(t, "did no harm in a process of its own, which judged it")
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, "success: ") {
		t.Errorf("the verdict is %q\n%s", got, j.forge.Comments(1)[0].Body)
	}
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
	stateIn(t, data, func(state *ledger.ServerState) error {
		left, err := state.Suspects(t.Context())
		if len(left) > 0 {
			t.Errorf("left are %+v, want no suspects", left)
		}
		return err
	})
}

// stateIn calls do with what the ledger in a server's folder keeps for the server.
func stateIn(t *testing.T, data string, do func(*ledger.ServerState) error) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(data, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(ledger.NewServerState(store)), store.Close()); err != nil {
		t.Fatal(err)
	}
}
