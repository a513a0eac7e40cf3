// Command crash kills gavel at random moments and shows that nothing is lost:
//
//	go run ./cmd/internal/crash -kills 200
//
// It judges 500 conversations once undisturbed and once with kills, by a server
// that counts the calls. In the end every verdict has to be there and the same,
// and no more calls may have been made twice than were in flight at the kills.
// Then it does the same where a working tree is compared with a commit, and some cases are
// regressions: both sides are measured again. It kills gavel serve as often, which may not refuse what it was looking at, and
// as often each of the workers, the server and the database of a run that is spread
// over two workers.
//
//	go run ./cmd/internal/crash -throughput
//
// kills nothing: it measures how much faster several workers judge than one.
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
	"time"
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

// A trial is what is tried.
type trial struct {
	kills, cases int
	random       *rand.Rand
	out          io.Writer
	program      string
	server       *server
}

// run parses the arguments and compares an undisturbed run with one that is
// killed.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	t := trial{out: out}
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	flags.IntVar(&t.kills, "kills", 200, "how often gavel is killed")
	flags.IntVar(&t.cases, "cases", 500, "how many conversations are judged")
	throughput := flags.Bool("throughput", false, "measure 1, 2 and 4 workers against models that take 200 ms, and kill nothing")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "what the moments are drawn from; printed, to repeat a run about as it was")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t.random = rand.New(rand.NewPCG(*seed, 0))
	dir, err := os.MkdirTemp("", "gavel-crash")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t.server = newServer()
	defer t.server.Close()
	if t.program, err = build(ctx, dir); err != nil {
		return err
	}
	if *throughput {
		return t.measure(ctx, dir)
	}
	fmt.Fprintf(out, "%d conversations, %d kills, seed %d\n", t.cases, t.kills, *seed)
	want, err := t.compare(ctx, dir)
	if err != nil {
		return err
	}
	if err := t.regress(ctx, dir); err != nil {
		return err
	}
	if err := t.serve(ctx, dir, want); err != nil {
		return err
	}
	return t.spread(ctx, dir, want)
}

// compare returns the verdicts of a run that is not killed.
func (t *trial) compare(ctx context.Context, dir string) (map[string]caseVerdict, error) {
	calm, err := newPlace(ctx, dir+"/calm", t)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	want, err := calm.judge(ctx)
	if err != nil {
		return nil, err
	}
	calls := t.server.received()
	fmt.Fprintf(t.out, "undisturbed: %d verdicts, %d calls, %.1f s\n", len(want), calls, time.Since(start).Seconds())
	if len(want) != t.cases {
		return nil, fmt.Errorf("%d verdicts of %d cases", len(want), t.cases)
	}

	rough, err := newPlace(ctx, dir+"/rough", t)
	if err != nil {
		return nil, err
	}
	start = time.Now()
	underway, most, err := rough.killed(ctx, calls)
	if err != nil {
		return nil, err
	}
	got, err := rough.judge(ctx)
	if err != nil {
		return nil, err
	}
	repeated := t.server.received() - calls - calls
	fmt.Fprintf(t.out, "killed %d times: %d verdicts, %d calls, %.1f s\n", t.kills, len(got), calls+repeated, time.Since(start).Seconds())
	fmt.Fprintf(t.out, "calls in progress at the kills: %d, at most %d at once; calls made twice: %d\n", underway, most, repeated)
	wrong := []error{rough.verify(ctx)}
	wrong = append(wrong, differences(got, want)...)
	if repeated > underway {
		wrong = append(wrong, fmt.Errorf("%d calls were made twice, and only %d were in flight", repeated, underway))
	}
	// A conversation has at most one call in flight.
	if most > 2*concurrency {
		wrong = append(wrong, fmt.Errorf("a kill lost %d calls of %d conversations at once", most, 2*concurrency))
	}
	return want, errors.Join(wrong...)
}

// regress kills gavel while it compares a working tree with a commit. Some cases are worse
// than there, so that both sides are measured again.
func (t *trial) regress(ctx context.Context, dir string) error {
	calm, err := newPlace(ctx, dir+"/calm-regress", t)
	if err == nil {
		err = calm.change(ctx)
	}
	if err != nil {
		return err
	}
	before := t.server.received()
	want, err := calm.judge(ctx)
	if err != nil {
		return err
	}
	calls := t.server.received() - before
	rough, err := newPlace(ctx, dir+"/rough-regress", t)
	if err == nil {
		err = rough.change(ctx)
	}
	if err != nil {
		return err
	}
	before = t.server.received()
	underway, most, err := rough.killed(ctx, calls)
	if err != nil {
		return err
	}
	got, err := rough.judge(ctx)
	if err != nil {
		return err
	}
	repeated := t.server.received() - before - calls
	regressions := 0
	for _, v := range want {
		if v.class == "regression" {
			regressions++
		}
	}
	fmt.Fprintf(t.out, "compared with base, killed %d times: %d verdicts, %d regressions, %d calls; in progress at the kills: %d, at most %d at once; calls made twice: %d\n",
		t.kills, len(got), regressions, calls+repeated, underway, most, repeated)
	wrong := append([]error{rough.verify(ctx)}, differences(got, want)...)
	if repeated > underway {
		wrong = append(wrong, fmt.Errorf("%d calls were made twice, and only %d were in flight", repeated, underway))
	}
	if regressions == 0 {
		wrong = append(wrong, errors.New("no case is a regression"))
	}
	return errors.Join(wrong...)
}

// differences are the verdicts that are not those of a run that was not killed.
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
