package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// TestUIKilledInAMove ends gavel ui in the middle of a move of a domain. No test is out
// of view before the next start, which finishes the move or undoes it.
func TestUIKilledInAMove(t *testing.T) {
	const tests = 400
	for _, placed := range []int{0, 1, tests / 2, tests - 1, tests} {
		t.Run(fmt.Sprint(placed), func(t *testing.T) {
			dir := twoTests(t)
			folder := filepath.Join(dir, "test_definitions", "talk", "level_1")
			for i := range tests - 2 {
				text := fmt.Sprintf(`{"id": "t%d", "name": "T", "prompt": "Hi", "expected": {"keywords": ["hello"]}}`, i)
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("t%d.json", i)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			moveAndKill(t, dir, placed)
			if out, _, code := gavel(t, dir, "validate"); code == ExitPass && !strings.Contains(out, fmt.Sprintf("%d cases, 0 errors", tests)) {
				t.Errorf("before the next start validate is green without all tests:\n%s", tail(out))
			}
			browsing(t, dir)
			if out, _, code := gavel(t, dir, "validate", "--strict"); code != ExitPass || !strings.Contains(out, fmt.Sprintf("%d cases", tests)) {
				t.Errorf("after the next start validate ends with %d:\n%s", code, tail(out))
			}
			old, now := filesBelow(t, filepath.Join(dir, "test_definitions", "talk")), filesBelow(t, filepath.Join(dir, "test_definitions", "zzz"))
			if len(old)+len(now) != tests+1 || len(old) > 0 && len(now) > 0 {
				t.Errorf("%d files are at the old place and %d at the new one, want all %d at one", len(old), len(now), tests+1)
			}
			for _, name := range append(old, now...) {
				if strings.HasSuffix(name, safefile.DraftSuffix) {
					t.Fatalf("%s is left", name)
				}
			}
		})
	}
}

// moveAndKill has gavel ui move a domain, and kills it when so many files have their
// place.
func moveAndKill(t *testing.T, dir string, placed int) {
	t.Helper()
	ui := program(t, "-C", dir, "ui", "--listen", "127.0.0.1:0", "--no-browser")
	said, err := ui.StderrPipe()
	if err == nil {
		err = ui.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var url string
	for log := bufio.NewScanner(said); url == "" && log.Scan(); {
		url = regexp.MustCompile(`http://\S+/`).FindString(log.Text())
	}
	if url == "" {
		t.Fatal("gavel ui does not say where the pages are")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, "POST", url+"api/settings/domains/talk/move", strings.NewReader(`{"id": "zzz"}`))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			var res *http.Response
			if res, err = http.DefaultClient.Do(req); err == nil {
				var body struct{ Error string }
				if err = errors.Join(json.NewDecoder(res.Body).Decode(&body), res.Body.Close()); body.Error != "" {
					t.Error(body.Error)
				}
			}
		}
		answered <- err
	}()
	for has(dir, placed) < placed || placed == 0 && !begun(dir) {
		select {
		case err := <-answered:
			answered <- err
			placed = -1
		default:
		}
	}
	if err := ui.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = ui.Wait() // it was killed
	<-answered
}

// begun reports whether a first draft is there.
func begun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "test_definitions", "zzz", "level_1"))
	return err == nil
}

// has counts the files that have their new place.
func has(dir string, enough int) (n int) {
	if enough == 0 {
		return 0
	}
	list, _ := os.ReadDir(filepath.Join(dir, "test_definitions", "zzz", "level_1")) // it may not be there yet
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}

// filesBelow are the files of a folder with those below it; none where there is no folder.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func tail(text string) string { return text[max(0, len(text)-1000):] }
