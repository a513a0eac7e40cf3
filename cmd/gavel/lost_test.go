package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/schema/race"
)

// damages make the file of an object what a lost one, a crash or a bad disk leaves.
var damages = map[string]func(file string) error{
	"missing":   os.Remove,
	"emptied":   func(file string) error { return os.Truncate(file, 0) },
	"truncated": func(file string) error { return os.Truncate(file, 3) },
}

// TestLostObjects takes away each object of base in turn. A job fetches what is lost, so
// that its verdict is that of a whole clone. A person gets that verdict or exit code 3.
func TestLostObjects(t *testing.T) {
	race.OneByOne(t)
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

// lose makes a clone with a file for each object, and ruins that of one.
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

// TestInvalidAndGone removes a definition that is invalid at base.
func TestInvalidAndGone(t *testing.T) {
	race.OneByOne(t)
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
