package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// placedFile is an operator's file with other places than the fixture's.
func placedFile(t *testing.T, j *job, places string) string {
	t.Helper()
	file := operatorsFile(t, j, "")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if field, _, _ := strings.Cut(line, ":"); !strings.Contains("\n"+places, "\n"+field+":") {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "")+places), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPlacesThatAServerCannotHave are found by the check, which writes nothing, and
// refused at the start with the field of the operator's file.
func TestPlacesThatAServerCannotHave(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	occupied := filepath.Join(dir, "occupied")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().String()
	for _, tt := range []struct{ name, places, missing, refused string }{
		{"a folder as the ledger", "ledger: " + dir + "\n", "missing  the ledger " + dir + ": " + dir + " is a folder\n", "; name another file with ledger in "},
		{"a ledger below a file", "ledger: " + occupied + "/ledger.db\n", "missing  the ledger " + occupied + "/ledger.db: ", "; name another file with ledger in "},
		{"a file as the folder", "data: " + occupied + "\nledger: " + dir + "/ledger.db\n", "missing  the folder " + occupied + ": " + occupied + " is not a folder\n", "; name another one with data in "},
		{"a folder of the kernel", "data: /proc/x\nledger: " + dir + "/ledger.db\n", "missing  the folder /proc/x: /proc belongs to the kernel", "; name another one with data in "},
		{"no such host", "listen: \"nowhere.invalid:0\"\n", "missing  listen nowhere.invalid:0: ", "; write another address as listen in "},
		{"a taken port", "listen: \"" + port + "\"\n", "missing  listen " + port + ": another program has the port", "end it, or write another address as listen in "},
		{"a taken port of probes", "probes: \"" + port + "\"\n", "missing  probes " + port + ": another program has the port", "end it, or write another address as probes in "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.places, "/proc") && runtime.GOOS != "linux" {
				t.Skip("only Linux has /proc")
			}
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.forge.Scopes = []string{"repo"}
			file := placedFile(t, j, tt.places)
			before := namesIn(t, dir, filepath.Dir(file))
			stdout, stderr, code := j.call(t, "serve", "--check", "--config", file)
			if code != exitUsage || !strings.Contains(stdout, tt.missing) || !strings.Contains(stderr, "1 of these is missing") {
				t.Errorf("the check ends with %d, want %d and %q\n%s%s", code, exitUsage, tt.missing, stdout, stderr)
			}
			if after := namesIn(t, dir, filepath.Dir(file)); after != before {
				t.Errorf("the check wrote: %s, want %s", after, before)
			}
			_, stderr, code = j.call(t, "serve", "--config", file)
			if code < exitUsage || !strings.Contains(stderr, tt.refused+file) || strings.Contains(stderr, "--ledger") {
				t.Errorf("the start ends with %d, want an error with %q\n%s", code, tt.refused+file, stderr)
			}
		})
	}
}

// namesIn lists the names in folders.
func namesIn(t *testing.T, dirs ...string) string {
	t.Helper()
	var names []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// TestTheCheckNextToARunningServer accepts the port of the server that has the ledger.
func TestTheCheckNextToARunningServer(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.forge.Scopes = []string{"repo"}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().String()
	free.Close()
	file := placedFile(t, j, "listen: \""+port+"\"\n")
	_, _, end := j.serving(t, file)
	stdout, stderr, code := j.call(t, "serve", "--check", "--config", file)
	if want := "ok       listen " + port + ": the server that runs with this ledger has the port\n"; code != exitPass || !strings.Contains(stdout, want) {
		t.Errorf("the check ends with %d, want %d and %q\n%s%s", code, exitPass, want, stdout, stderr)
	}
	end()
}
