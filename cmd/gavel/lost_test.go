package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
)

// damages make the file of an object what a lost one, a crash or a bad disk leaves.
var damages = map[string]func(file string) error{
	"missing":   os.Remove,
	"emptied":   func(file string) error { return os.Truncate(file, 0) },
	"truncated": func(file string) error { return os.Truncate(file, 3) },
}

// TestLostObjects removes each object of base in turn. A job fetches lost objects, so
// that it reaches the verdict of a whole clone. A person gets the same verdict or exit
// code 3. (abuse 39)
func TestLostObjects(t *testing.T) {
	s := scenario{
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n")}),
		head: map[string]string{at("a"): gone}, answer: echo,
	}
	for how, ruin := range damages {
		for i := 0; ; i++ {
			c := newPassage(t, s, columns[0])
			objects := strings.Fields(c.git(t, "rev-list", "--objects", "--no-object-names", c.base))
			if i == len(objects) {
				break
			}
			t.Run(fmt.Sprintf("%s %d", how, i), func(t *testing.T) {
				c.t = t
				c.lose(objects[i], ruin)
				out, errs, code := c.call(t, "run", "--base", "main")
				fails := code == exitGate && strings.Contains(out, "1 case removed (removed: fail)")
				if repair := "git fetch --refetch --no-filter"; !fails && (code != exitInternal || !strings.Contains(errs, repair) && !strings.Contains(errs, "clone the repository again")) {
					t.Errorf("run of a clone without %s ends with %d and says %s%s", objects[i], code, out, errs)
				}
				c.open()
				if out, errs, code := c.run(t); code != exitGate || !strings.Contains(out, "1 case removed (removed: fail)") {
					t.Errorf("pr in a clone without %s ends with %d and says %s%s", objects[i], code, out, errs)
				}
			})
		}
	}
}

// lose makes a clone with a file per object, and ruins one of the files.
func (c *passage) lose(object string, ruin func(file string) error) {
	c.checkout = filepath.Join(c.t.TempDir(), "tree")
	c.git(c.t, "clone", "-q", "--no-hardlinks", "-b", "topic", c.folder, c.checkout)
	gittest.Run(c.t, c.checkout, "branch", "main", "origin/main")
	gittest.Run(c.t, c.checkout, "remote", "set-url", "origin", "file://"+c.folder)
	file := filepath.Join(c.checkout, ".git", "objects", object[:2], object[2:])
	if err := os.Chmod(file, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := ruin(file); err != nil {
		c.t.Fatal(err)
	}
}

// TestLostObjectsOfAMirror takes away each object of base in turn from the clone of a server,
// which fetches it again and reaches the verdict of a whole clone.
func TestLostObjectsOfAMirror(t *testing.T) {
	s := scenario{
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n")}),
		head: map[string]string{at("a"): gone}, answer: echo,
	}
	for i, how := 0, []string{"missing", "emptied", "truncated"}; ; i++ {
		c := newPassage(t, s, columns[0])
		objects := strings.Fields(c.git(t, "rev-list", "--objects", "--no-object-names", c.base))
		if i == len(how)*len(objects) {
			break
		}
		t.Run(fmt.Sprintf("%s %d", how[i%len(how)], i/len(how)), func(t *testing.T) {
			c.t = t
			file := c.operators()
			at, log, end := c.serving(t, file)
			log.await(t, `"branch":"main"`)
			data := filepath.Join(filepath.Dir(file), "data")
			loseOf(t, data, objects[i/len(how)], damages[how[i%len(how)]])
			c.announce(at)
			c.await(log)
			rest(t, at)
			if code := end(); code != exitPass {
				t.Errorf("serve ends with %d", code)
			}
			r := c.lastReport(t, filepath.Join(data, "ledger.db"), c.base)
			if r.Gate.Result != report.GateFail || !strings.Contains(r.Gate.Reason, "1 case removed (removed: fail)") || c.states()["gavel/verdict"] != "failure" {
				t.Errorf("without %s: %s: %s, statuses %v", objects[i/len(how)], r.Gate.Result, r.Gate.Reason, c.states())
			}
		})
	}
}

// loseOf stores a server's clone with a file per object, and ruins one of the files.
func loseOf(t *testing.T, data, object string, ruin func(file string) error) {
	t.Helper()
	clones, err := filepath.Glob(filepath.Join(data, "clones", "*.git"))
	if err != nil || len(clones) != 1 {
		t.Fatalf("clones %v, %v", clones, err)
	}
	gittest.Unpack(t, clones[0])
	file := filepath.Join(clones[0], "objects", object[:2], object[2:])
	if err := errors.Join(os.Chmod(file, 0o600), ruin(file)); err != nil {
		t.Fatal(err)
	}
}

// TestInvalidAndGone removes a definition that is invalid at base.
func TestInvalidAndGone(t *testing.T) {
	s := scenario{
		base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {removed: fail}\n"), at("a"): "{"}),
		head: map[string]string{at("a"): gone}, answer: echo,
	}
	c := newPassage(t, s, columns[0])
	r := c.byRun()
	if len(r.Notices) != 1 || r.Notices[0].File != at("a") || !r.Notices[0].AtBase || !strings.Contains(r.Notices[0].Message, "was invalid at base and is gone") {
		t.Errorf("the notices are %+v", r.Notices)
	}
}

// TestNothingWasThere: where neither base nor head has definitions, nothing is said to be
// gone.
func TestNothingWasThere(t *testing.T) {
	for _, d := range columns[:3] {
		t.Run(d.name, func(t *testing.T) {
			c := newPassage(t, scenario{base: map[string]string{"gavel.yaml": usual()}, head: map[string]string{"docs.md": "words"}, answer: echo}, d)
			if r := c.d.pass(c); len(r.Notices) != 0 {
				t.Errorf("the notices are %+v", r.Notices)
			}
		})
	}
}
