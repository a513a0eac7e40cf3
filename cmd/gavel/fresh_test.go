package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
)

// TestFresh judges stored cases again, and for a change the affected ones.
func TestFresh(t *testing.T) {
	p := newProject(t)
	p.asks("run", "hello, kindly", "thanks, kindly")
	p.asks("run")
	if text := p.asks("plan --fresh"); !strings.Contains(text, "--fresh judges again") || !strings.Contains(text, "2 to run") {
		t.Errorf("the plan does not say so:\n%s", text)
	}
	p.asks("run --fresh", "hello, kindly", "thanks, kindly")
	p.asks("run --fresh --domain talk talk/level_1/hello", "hello, kindly")
	p.asks("run")

	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.asks("run --base HEAD~1", "hello, briefly")
	p.asks("run --base HEAD~1 --fresh", "hello, briefly")
	// --all takes the others, too, but their stored verdicts serve.
	p.asks("run --base HEAD~1 --all")
	p.asks("run --base HEAD~1 --all --fresh", "hello, briefly", "thanks, kindly")
}

// TestAFreshRunThatWasBrokenOff is continued by the next fresh one, and not once
// another run has come to its end.
func TestAFreshRunThatWasBrokenOff(t *testing.T) {
	for _, between := range []string{"", "run"} {
		p := newProject(t)
		p.asks("run", "hello, kindly", "thanks, kindly")
		first := p.interrupted(1, "run", "--fresh")
		if len(first) != 2 {
			t.Fatalf("the run that was broken off asked %q", first)
		}
		want := 1
		if between != "" {
			p.asks(between)
			want = 2
		}
		gavel(t, p.folder, "run", "--fresh")
		if second := p.calls(); len(second) != want {
			t.Errorf("after %q and %q the next one asked %q", first, between, second)
		}
	}
}

// TestRepeat takes so many fresh samples of every selected case, affected or not.
func TestRepeat(t *testing.T) {
	p := newProject(t)
	p.asks("run", "hello, kindly", "thanks, kindly")
	var report report.Report
	if err := json.Unmarshal([]byte(p.asks("run --repeat 3 --json talk/level_1/hello", "hello, kindly", "hello, kindly", "hello, kindly")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Cases) != 1 || report.Cases[0].Samples != 3 {
		t.Errorf("cases %+v", report.Cases)
	}
	p.asks("run --repeat 1 talk/level_1/hello", "hello, kindly")
	p.asks("run")

	// Head has this many fresh ones, and base as many; stored ones of base count.
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "briefly")})
	p.asks("run --repeat 2 --base HEAD~1 talk/level_1/thanks", "thanks, briefly", "thanks, briefly", "thanks, kindly")

	for _, n := range []string{"-1", "1001", "1000000000"} {
		if _, stderr, code := gavel(t, p.folder, "run", "--repeat="+n); code != exitUsage || !strings.Contains(stderr, "--repeat "+n+": write a number from 1 to 1000") {
			t.Errorf("--repeat %s: exit code %d: %s", n, code, stderr)
		}
	}
	if _, stderr, code := gavel(t, p.folder, "run", "--repeat", "0"); code != exitUsage || !strings.Contains(stderr, "--repeat") || !strings.Contains(stderr, "write a number from 1 to 1000") {
		t.Errorf("--repeat 0: exit code %d: %s", code, stderr)
	}
	if asked := p.calls(); len(asked) > 0 {
		t.Errorf("calls %q", asked)
	}
}

// TestOnly takes the cases that ended so in the last run of the working tree.
func TestOnly(t *testing.T) {
	p := newProject(t)
	if _, stderr, code := gavel(t, p.folder, "run", "--only", "failed"); code != exitUsage || !strings.Contains(stderr, "no run of the working tree is stored yet") {
		t.Errorf("before the first run: exit code %d: %s", code, stderr)
	}
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong), casePath("broken"): caseOf("broken", fault)})
	gavel(t, p.folder, "run")
	p.calls()

	only := func(args ...string) (calls []string) {
		gavel(t, p.folder, append([]string{"run"}, args...)...)
		return p.calls()
	}
	// A failed case is stored; a case that could not be judged is not.
	for _, step := range []struct {
		args []string
		want []string
	}{
		{[]string{"--only", "failed"}, nil},
		{[]string{"--only", "failed", "--fresh"}, []string{"hello, " + wrong}},
		{[]string{"--only", "flaky", "--fresh"}, nil},
	} {
		if diff := cmp.Diff(step.want, only(step.args...)); diff != "" {
			t.Errorf("%q: calls (-want +got):\n%s", step.args, diff)
		}
	}
	gavel(t, p.folder, "run")
	p.calls()
	for _, asked := range only("--only", "errors,failed", "--fresh") {
		if !strings.Contains(asked, fault) && !strings.Contains(asked, wrong) {
			t.Errorf("--only errors,failed asked %q", asked)
		}
	}
	if _, stderr, _ := gavel(t, p.folder, "run", "--only", "flaky"); !strings.Contains(stderr, "no selected case ended so in the last run: --only flaky") || strings.Contains(stderr, "gavel init") {
		t.Errorf("with no flaky case: %s", stderr)
	}
	if _, stderr, code := gavel(t, p.folder, "run", "--only", "faild"); code != exitUsage || !strings.Contains(stderr, `--only "faild" is not known; did you mean `+"`failed`") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
