package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve/trial"
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
	id := strings.TrimSuffix(filepath.Base(clones[0]), ".git")
	j.replace(t, withPrograms(), map[string]string{"undeclared.sh": "more=more\n"})
	notes := filepath.Join(data, "looking")
	text := `{"repository": ` + id + `, "pull": 1, "sha": "` + j.head + `"}`
	if err := os.WriteFile(filepath.Join(notes, id+"-1-"+j.head+".json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trial.OpenNotes(notes, time.Now()); err != nil {
		t.Fatal(err)
	}
	_, log, end = j.serving(t, file)
	log.await(t, "did no harm in a process of its own, which judged it")
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, "success: ") {
		t.Errorf("the verdict is %q\n%s", got, j.forge.Comments(1)[0].Body)
	}
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
	if left, err := os.ReadDir(notes); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
