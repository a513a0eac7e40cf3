package gitrepo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestVersions follows files that are written, changed, deleted and written
// again, and one that never was.
func TestVersions(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var changes []NewCommit
	for day, write := range []map[string][]byte{
		{"a": []byte("1"), "dir/b": []byte("1")}, {"a": []byte("2")}, {"dir/b": nil, "c": []byte("1")}, {"dir/b": []byte("1")}, {"c": []byte("2")},
	} {
		changes = append(changes, NewCommit{Message: fmt.Sprint(day), Write: write, At: start.AddDate(0, 0, day)})
	}
	dir := t.TempDir()
	if err := Create(t.Context(), dir, changes); err != nil {
		t.Fatal(err)
	}
	full := versionsOf(t, dir)
	want := map[string]string{"a": "3 2 all", "dir/b": "5 4 2 all", "c": "6 4 all", "never": "all"}
	if diff := cmp.Diff(want, full); diff != "" {
		t.Errorf("days of March (-want +got):\n%s", diff)
	}
	shallow := t.TempDir()
	gittest.Run(t, shallow, "clone", "-q", "--depth", "3", "file://"+dir, ".")
	want = map[string]string{"a": "", "dir/b": "5 ", "c": "6 ", "never": ""}
	if diff := cmp.Diff(want, versionsOf(t, shallow)); diff != "" {
		t.Errorf("of the last three commits (-want +got):\n%s", diff)
	}
}

// TestSubject is the first line of a commit's message, of bounded length.
func TestSubject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("ä", 150)
	err := Create(t.Context(), dir, []NewCommit{
		{Message: "\nFirst, do this\n\nand why", Write: map[string][]byte{"a": []byte("0")}}, {Message: long, Write: map[string][]byte{"a": []byte("1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	first, err := repo.Resolve(t.Context(), "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]string{first: "First, do this", "": long[:mostSubject] + "…", strings.Repeat("1", 40): ""} {
		if got := repo.Subject(commit); got != want {
			t.Errorf("the subject of %q is %q, want %q", commit, got, want)
		}
	}
}

// versionsOf lists the days on which files were changed.
func versionsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	head, err := repo.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]string{}
	for _, file := range []string{"a", "dir/b", "c", "never"} {
		versions, all, err := repo.Versions(t.Context(), head, file)
		if err != nil {
			t.Fatal(err)
		}
		var told string
		for _, v := range versions {
			told += fmt.Sprint(v.At.Day(), " ")
		}
		if all {
			told += "all"
		}
		days[file] = told
	}
	return days
}
