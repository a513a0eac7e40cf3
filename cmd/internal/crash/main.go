// Command crash kills gavel at random moments and shows that nothing is lost:
//
//	go run ./cmd/internal/crash -kills 200
//
// First it judges conversations undisturbed, by a server that plays the models and
// counts the calls: once as they are, and once a changed working tree against a commit.
// There every fifth case is worse for good, and one fails once by chance, so that both
// sides are measured again. Then each of the modes does the same, and gavel is killed
// as often as -kills says:
//
//   - run: the working tree as it is
//   - base: the working tree against a commit
//   - watch: the same by gavel watch
//   - pr: a pull request, by a job
//   - branch: a branch, by a server without a forge
//   - serve: a branch and a pull request, by a server
//   - judge: the same on PostgreSQL, which is killed as often
//   - workers: the same by a server and two workers, each of which is killed as often
//
// -only names some of them. In the end every verdict has to equal the undisturbed
// run's, no more calls may have been made twice than were in flight at the kills, a
// regression is named, the statuses and the comment of the pull request are there once
// and final, and nothing is left behind: no lease, no task, no posting and no lock.
//
//	go run ./cmd/internal/crash -throughput
//
// kills nothing: it measures how much faster several workers judge than one.
//
//	go run ./cmd/internal/crash -crowd 1000 -cases 20
//
// kills nothing either: it has a server find so many open pull requests at once, and
// measures when their heads have final statuses and comments, how /healthz answers, and the
// memory of the server. With one write a second, 1,000 take about 50 minutes; an interrupt
// prints what there is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

// A trial has the parts of a whole run of this command.
type trial struct {
	*stage.Stage
	kills, cases int
	verbose      bool
	random       *rand.Rand
	out          io.Writer
	dir          string
	program      string
	server       *server
	// calm has the results of undisturbed runs, once they are known: of the unchanged
	// working tree, and of one that is compared with a commit.
	calm, compared *result
}

// A result is the result of a run.
type result struct {
	verdicts map[string]caseVerdict
	// asked counts the requests to models.
	asked map[request]int
	calls int
}

// A mode is a way to run gavel that is killed.
type mode struct {
	name string
	try  func(*trial, context.Context) error
}

var modes = []mode{
	{"run", (*trial).run}, {"base", (*trial).base}, {"watch", (*trial).watch}, {"pr", (*trial).pr}, {"branch", (*trial).branch},
	{"serve", (*trial).serve}, {"judge", (*trial).judge}, {"workers", (*trial).workers},
}

// run parses the arguments and tries the modes.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	t := trial{out: out}
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	flags.IntVar(&t.kills, "kills", 200, "how often gavel is killed in each mode")
	flags.IntVar(&t.cases, "cases", 500, "how many conversations are judged, at least 10")
	only := flags.String("only", "", "the modes that are tried, such as pr,serve; all by default")
	throughput := flags.Bool("throughput", false, "measure 1, 2 and 4 workers against models that take 200 ms, and kill nothing")
	crowd := flags.Int("crowd", 0, "measure a server that finds so many open pull requests, and kill nothing")
	gavel := flags.String("gavel", "", "the program to kill; it is built by default")
	flags.BoolVar(&t.verbose, "v", false, "print what the processes log, to stderr")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "what the moments are drawn from; printed, to repeat a run about as it was")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	t.cases = max(t.cases, 10)
	t.random = rand.New(rand.NewPCG(*seed, 0))
	if t.dir, err = os.MkdirTemp("", "gavel-crash"); err != nil {
		return err
	}
	t.Stage = stage.New(ctx, t.dir)
	defer func() { err = errors.Join(err, t.End(), os.RemoveAll(t.dir)) }()
	// Processes that are killed leave files in a temporary folder, which go with the others.
	if err := errors.Join(os.Mkdir(t.scratch(), 0o777), os.Chmod(t.scratch(), 0o1777)); err != nil {
		return err
	}
	t.server = newServer()
	defer t.server.Close()
	if t.program, err = stage.Program(ctx, *gavel, t.dir); err != nil {
		return err
	}
	if *throughput {
		return t.measure(ctx)
	}
	if *crowd > 0 {
		return t.Play(func() error { return t.measureCrowd(ctx, *crowd) })
	}
	fmt.Fprintf(out, "%d conversations, %d kills, seed %d\n", t.cases, t.kills, *seed)
	for _, m := range chosen {
		start := time.Now()
		if err := t.Play(func() error { return m.try(&t, ctx) }); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(out, "%s: %.1f s\n", m.name, time.Since(start).Seconds())
	}
	return nil
}

// choose returns the modes with some names.
func choose(names string) (chosen []mode, err error) {
	if names == "" {
		return modes, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mode %q; see the comment of the command", name)
		}
		chosen = append(chosen, modes[i])
	}
	return chosen, nil
}

// scratch is the temporary folder of the processes.
func (t *trial) scratch() string { return filepath.Join(t.dir, "scratch") }

// undisturbed judges in a place, and returns the result.
func (t *trial) undisturbed(ctx context.Context, p *fixture) (*result, error) {
	t.server.forget()
	before, start := t.server.received(), time.Now()
	verdicts, err := p.judge(ctx)
	if err != nil {
		return nil, err
	}
	r := &result{verdicts: verdicts, asked: map[request]int{}, calls: t.server.received() - before}
	for body, keys := range t.server.asked() {
		r.asked[body] = len(keys)
	}
	fmt.Fprintf(t.out, "undisturbed: %d verdicts, %d calls, %.1f s\n", len(verdicts), r.calls, time.Since(start).Seconds())
	if len(verdicts) != t.cases {
		return nil, fmt.Errorf("%d verdicts of %d cases", len(verdicts), t.cases)
	}
	return r, nil
}

// plain returns the result for the unchanged working tree.
func (t *trial) plain(ctx context.Context) (_ *result, err error) {
	if t.calm == nil {
		t.calm, err = t.undisturbed(ctx, t.place("calm"))
	}
	return t.calm, err
}

// changed returns the result of comparing the working tree with a commit.
func (t *trial) changed(ctx context.Context) (*result, error) {
	if t.compared != nil {
		return t.compared, nil
	}
	p := t.place("calm-changed")
	p.change()
	r, err := t.undisturbed(ctx, p)
	if err != nil {
		return nil, err
	}
	classes := map[string]int{}
	for _, v := range r.verdicts {
		classes[v.class]++
	}
	fmt.Fprintf(t.out, "compared with base: %v\n", classes)
	if classes["regression"] != (t.cases+3)/5 || classes["flaky"] != 1 {
		return nil, fmt.Errorf("%d cases are regressions and %d flaky, want %d and 1", classes["regression"], classes["flaky"], (t.cases+3)/5)
	}
	t.compared = r
	return r, nil
}

// run kills gavel while it judges a working tree.
func (t *trial) run(ctx context.Context) error {
	want, err := t.plain(ctx)
	if err != nil {
		return err
	}
	return t.place("run").roughly(ctx, want, 2*concurrency)
}

// ofBothSides is how many conversations are held at once if head is compared with base:
// each side has its own.
const ofBothSides = 4 * concurrency

// base kills gavel while it compares a working tree with a commit.
func (t *trial) base(ctx context.Context) error {
	want, err := t.changed(ctx)
	if err != nil {
		return err
	}
	p := t.place("base")
	p.change()
	return p.roughly(ctx, want, ofBothSides)
}

// roughly kills gavel again and again, lets it come to its end, and compares the result
// with an undisturbed run. A kill may lose this many calls.
func (p *fixture) roughly(ctx context.Context, want *result, most int) error {
	p.server.forget()
	before := p.server.received()
	lost, err := p.killed(ctx, want.calls)
	if err != nil {
		return err
	}
	got, err := p.finish(ctx)
	if err != nil {
		return err
	}
	repeated := p.server.received() - before - want.calls
	fmt.Fprintf(p.out, "killed %d times: %d verdicts, %d calls; in progress at the kills: %d, at most %d at once; calls made twice: %d\n",
		p.kills, len(got), want.calls+repeated, lost.sum, lost.most, repeated)
	wrong := append(differences(got, want.verdicts), p.left(ctx)...)
	if repeated > lost.sum {
		wrong = append(wrong, fmt.Errorf("%d calls were made twice, and only %d were in flight", repeated, lost.sum))
	}
	// A conversation has at most one call in flight.
	if lost.most > most {
		wrong = append(wrong, fmt.Errorf("a kill lost %d calls of %d conversations at once", lost.most, most))
	}
	all := func(string) bool { return true }
	if _, err := p.repeats(want, all); err != nil {
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// repeats returns how many calls were made more often than in an undisturbed run. The
// error says which of them no killed process had made before, and which were never made.
func (t *trial) repeats(want *result, killed func(key string) bool) (more int, err error) {
	missing, unexplained, asked := 0, 0, t.server.asked()
	for body, n := range want.asked {
		missing += max(0, n-len(asked[body]))
	}
	for body, keys := range asked {
		surplus := len(keys) - want.asked[body]
		if surplus <= 0 {
			continue
		}
		explained := 0
		for _, key := range keys {
			if killed(key) {
				explained++
			}
		}
		more += surplus
		unexplained += max(0, surplus-explained)
	}
	if missing > 0 {
		err = fmt.Errorf("%d calls of the undisturbed run were never made", missing)
	}
	if unexplained > 0 {
		err = errors.Join(err, fmt.Errorf("%d calls were made twice that no killed process had made", unexplained))
	}
	return more, err
}

// differences returns the verdicts that differ from an undisturbed run's.
func differences(got, want map[string]caseVerdict) (wrong []error) {
	for key, v := range want {
		if got[key] != v {
			wrong = append(wrong, fmt.Errorf("%s is %+v, and undisturbed %+v", key, got[key], v))
		}
	}
	if len(got) != len(want) {
		wrong = append(wrong, fmt.Errorf("%d verdicts, and undisturbed %d", len(got), len(want)))
	}
	return wrong
}
