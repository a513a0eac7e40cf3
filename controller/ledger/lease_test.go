package ledger_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
)

// TestMain is a run that never ends where a test starts it as one.
func TestMain(m *testing.M) {
	if store := os.Getenv("LEDGER_TEST_HOLD"); store != "" {
		if os.Getenv("LEDGER_TEST_ALONE") != "" {
			holdAlone(store)
		} else {
			hold(store)
		}
		return
	}
	os.Exit(m.Run())
}

// want begins a run that is ended with the test.
func (k *fixture) want(trust ledger.Trust, digests ...string) *ledger.RunHandle {
	k.t.Helper()
	i, err := k.BeginRun(k.t.Context(), trust, digests)
	k.check(err)
	k.t.Cleanup(func() {
		if err := i.Close(ctxAfter); err != nil {
			k.t.Error(err)
		}
	})
	return i
}

func (k *fixture) lease(i *ledger.RunHandle, digest string) *ledger.Lease {
	k.t.Helper()
	lease, err := i.Lease(k.t.Context(), digest, "")
	k.check(err)
	return lease
}

func (k *fixture) wantLeased(i *ledger.RunHandle, digest string) {
	k.t.Helper()
	if _, err := i.Lease(k.t.Context(), digest, ""); !errors.Is(err, ledger.ErrLeased) {
		k.t.Errorf("lease on %s: %v", digest, err)
	}
	leased, err := i.Leased(k.t.Context(), digest)
	if err != nil || !leased {
		k.t.Errorf("leased: %v, %v", leased, err)
	}
}

// twoFixtures are two openings of one store, as two processes have it.
func twoFixtures(t *testing.T, b backend) (one, other *fixture) {
	one, other = &fixture{t: t, now: epoch}, &fixture{t: t, now: epoch}
	store := b.empty(t)
	one.Ledger = b.open(t, store, func() time.Time { return one.now })
	other.Ledger = b.open(t, store, func() time.Time { return other.now })
	return one, other
}

func testLease(t *testing.T, b backend) {
	one, other := twoFixtures(t, b)
	d := digestsOf("case")
	first, second, same := one.want(base, d.E), other.want(operator, d.E), one.want(base, d.E)
	lease := one.lease(first, d.E)
	other.wantLeased(second, d.E)
	one.wantLeased(same, d.E)
	one.lease(first, "another")
	// The clocks of two machines differ.
	one.now = one.now.Add(5 * time.Second)
	one.lease(first, "early")
	other.wantLeased(second, "early")

	// An undecided case goes on under the lease.
	o := outcome(base, d, 0, "text")
	o.Decision, o.Lease = nil, lease
	one.save(o)
	other.wantLeased(second, d.E)

	one.save(ledger.Outcome{Trust: base, Digests: d, Decision: decision(1, "text"), Lease: lease})
	if leased, err := second.Leased(t.Context(), d.E); err != nil || leased {
		t.Errorf("leased after the decision: %v, %v", leased, err)
	}
	next := other.lease(second, d.E)
	one.check(lease.Release(t.Context())) // what it holds no more
	one.wantLeased(first, d.E)
	other.check(next.Release(t.Context()))
	one.lease(first, d.E)
	one.check(first.Close(t.Context()))
	other.lease(second, d.E)
}

// testBlankLease holds that a lease is blank only if nothing is stored under its digests:
// its holder does not look for what is stored then.
func testBlankLease(t *testing.T, b backend) {
	k := newFixture(t, b)
	run, head := k.want(base), k.want(pull7)
	call := func(trust ledger.Trust, digest string) {
		t.Helper()
		key := ledger.CallKey{Digest: digest, Role: "target"}
		k.check(k.SaveCall(t.Context(), trust, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch}))
	}
	for _, tt := range []struct {
		name  string
		store func(plan.Digests)
		want  bool
	}{
		{"nothing", func(plan.Digests) {}, true},
		{"something of another case", func(plan.Digests) { k.save(outcome(base, digestsOf("another"), 0, "text")) }, true},
		{"a verdict", func(d plan.Digests) { k.save(outcome(base, d, 0, "text")) }, false},
		{"a sample of a pull request", func(d plan.Digests) {
			o := outcome(pull7, d, 0, "text")
			o.Samples, o.Decision = nil, nil
			k.save(o)
		}, false},
		{"a call to the target", func(d plan.Digests) { call(base, d.E) }, false},
		{"a call to the judge", func(d plan.Digests) { call(base, d.J) }, false},
		{"a call of a pull request", func(d plan.Digests) { call(pull7, d.J) }, false},
	} {
		d := digestsOf(tt.name)
		tt.store(d)
		for _, i := range []*ledger.RunHandle{head, run} {
			lease, err := i.Lease(t.Context(), d.E, d.J)
			k.check(err)
			if lease.Blank() != tt.want {
				t.Errorf("with %s the lease is blank: %v, want %v", tt.name, lease.Blank(), tt.want)
			}
			k.check(lease.Release(t.Context()))
		}
	}
	// One that takes the place of a silent run's.
	k, other := twoFixtures(t, b)
	d := digestsOf("silent")
	k.lease(k.want(base), d.E)
	call(base, d.E)
	other.now = epoch.Add(11 * time.Second)
	lease, err := other.want(base).Lease(t.Context(), d.E, d.J)
	k.check(err)
	if lease.Blank() {
		t.Error("a lease after a run with calls is blank")
	}
}

// testLeaseTrust has those with more trust not wait for those with less.
func testLeaseTrust(t *testing.T, b backend) {
	k := newFixture(t, b)
	seven, eight, main := k.want(pull7, "e"), k.want(pull8, "e"), k.want(base, "e")
	k.lease(seven, "e")
	k.lease(eight, "e")
	k.wantLeased(k.want(pull7, "e"), "e")
	k.lease(main, "e")
	k.lease(main, "f")
	k.wantLeased(seven, "f")
}

// testLostLease has a run go silent for too long, and another take over.
func testLostLease(t *testing.T, b backend) {
	one, other := twoFixtures(t, b)
	d := digestsOf("case")
	first, second := one.want(base, d.E), other.want(base, d.E)
	lease := one.lease(first, d.E)
	write := func(lease *ledger.Lease) error {
		key := ledger.CallKey{Digest: d.E, Role: "target"}
		return one.SaveCall(t.Context(), base, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease})
	}
	one.check(write(lease))
	other.now = epoch.Add(9 * time.Second)
	other.wantLeased(second, d.E)
	other.now = epoch.Add(11 * time.Second)
	one.check(write(lease)) // nobody took over yet
	next := other.lease(second, d.E)
	if err := write(lease); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Errorf("a call after the lease was lost: %v", err)
	}
	if err := one.DropCalls(t.Context(), base, ledger.CallKey{Digest: d.E}, lease); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Errorf("dropping calls after the lease was lost: %v", err)
	}
	select {
	case <-lease.Lost():
	default:
		t.Error("the holder was not told")
	}
	o := outcome(base, d, 0, "late")
	o.Lease = lease
	if err := one.Save(t.Context(), o); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Errorf("an outcome after the lease was lost: %v", err)
	}
	one.wantSeen(ledger.Scope{Trust: base}, d, seen{})
	one.check(lease.Release(t.Context()))
	one.now = other.now
	one.wantLeased(first, d.E)
	o = outcome(base, d, 0, "in time")
	o.Lease = next
	other.save(o)
	one.wantSeen(ledger.Scope{Trust: base}, d, seen{Executions: map[int]string{0: "in time"}, Judgements: map[int]string{0: "in time"}, Next: 1, Decision: "in time"})
	// The next lease differs from the first, even for the same owner.
	again := one.lease(first, d.E)
	if err := write(lease); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Errorf("a call under an old lease: %v", err)
	}
	one.check(write(again))
}

// testLeaseOfThisProcess has the database take no sign of life for a while: a run of the
// same process is alive, and its replies are stored.
func testLeaseOfThisProcess(t *testing.T, b backend) {
	k := newFixture(t, b)
	first, second := k.want(base, "e"), k.want(base, "e")
	lease := k.lease(first, "e")
	k.now = k.now.Add(11 * time.Second)
	k.wantLeased(second, "e")
	call := ledger.Call{Key: ledger.CallKey{Digest: "e", Role: "target"}, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease}
	k.check(k.SaveCall(t.Context(), base, call))
	k.check(first.Close(t.Context()))
	k.lease(second, "e")
}

// testLeaseClock sets the clock back and forward: nobody waits for long, and
// the one who lost the lease cannot write.
func testLeaseClock(t *testing.T, b backend) {
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		one, other := twoFixtures(t, b)
		first, second := one.want(base, "e"), other.want(base, "e")
		lease := one.lease(first, "e")
		one.now, other.now = epoch.Add(by), epoch.Add(by)
		next := other.lease(second, "e")
		call := ledger.Call{Key: ledger.CallKey{Digest: "e", Role: "target"}, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease}
		if err := one.SaveCall(t.Context(), base, call); !errors.Is(err, ledger.ErrLeaseLost) {
			t.Errorf("clock set by %v: %v", by, err)
		}
		call.Lease = next
		other.check(other.SaveCall(t.Context(), base, call))
	}
}

func testWanted(t *testing.T, b backend) {
	one, other := twoFixtures(t, b)
	drop := func(i *ledger.RunHandle, digest string, want bool) {
		t.Helper()
		if got, err := i.Release(t.Context(), digest); err != nil || got != want {
			t.Errorf("another run wants %s: %v, want %v (%v)", digest, got, want, err)
		}
	}
	first, second := one.want(base, "a", "b", "c", "b"), other.want(base, "b", "d")
	drop(first, "a", false)
	drop(first, "b", true)
	drop(second, "b", false)
	// Entries of a pull request serve nobody else, but it can use base's.
	seven, eight := one.want(pull7, "p"), other.want(pull8, "p", "q", "c")
	drop(seven, "p", false)
	drop(first, "c", true)
	one.want(base, "q")
	drop(eight, "q", false)
	drop(one.want(base), "c", true) // it wants nothing itself, and eight does
	// Nor does one that ended want anything.
	drop(second, "d", false)
	third := one.want(base, "x")
	fourth := other.want(base, "x")
	one.check(third.Close(t.Context()))
	drop(fourth, "x", false)
	// Nor one that gave no sign of life for too long, though it may be alive.
	one.want(base, "y")
	fifth := other.want(base, "y")
	other.now = epoch.Add(9 * time.Second)
	drop(fifth, "y", true)
	other.now = epoch.Add(11 * time.Second)
	drop(fifth, "y", false)
}

// testDeadRun starts runs that are killed, and does not wait for them.
func testDeadRun(t *testing.T, b backend) {
	if runtime.GOOS != "linux" {
		t.Skip("a killed run is known at once on Linux only")
	}
	store := filepath.Join(t.TempDir(), "ledger.db")
	k := &fixture{t: t, Ledger: open(t, store)}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_HOLD="+store)
	out, err := cmd.StdoutPipe()
	k.check(err)
	k.check(cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "held\n" {
		t.Fatal(said, err)
	}
	mine := k.want(base, "e", "f")
	k.wantLeased(mine, "e")
	claimant := k.lease(mine, "f")
	if short, err := claimant.Claim(t.Context(), held(), calls(3), calls(3)); err != nil || short == nil || short.Claimed != calls(8) {
		t.Errorf("next to what a living run has claimed: %+v, %v", short, err)
	}
	if wanted, err := mine.Release(t.Context(), "e"); err != nil || !wanted {
		t.Errorf("wanted by a living run: %v, %v", wanted, err)
	}
	k.check(cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the run ended by itself")
	}
	if short, err := claimant.Claim(t.Context(), held(), calls(3), calls(3)); err != nil || short != nil {
		t.Errorf("next to what a dead run has claimed: %+v, %v", short, err)
	}
	if leased, err := mine.Leased(t.Context(), "e"); err != nil || leased {
		t.Errorf("leased by a dead run: %v, %v", leased, err)
	}
	k.lease(mine, "e")
	if wanted, err := mine.Release(t.Context(), "e"); err != nil || wanted {
		t.Errorf("wanted by a dead run: %v, %v", wanted, err)
	}
}

// holding takes the lease on e in a ledger that it opens.
func holding(cfg ledger.Config) (*ledger.Ledger, *ledger.RunHandle, *ledger.Lease) {
	l, err := ledger.Open(ctxAfter, cfg)
	if err != nil {
		panic(err)
	}
	run, err := l.BeginRun(ctxAfter, base, []string{"e"})
	if err != nil {
		panic(err)
	}
	lease, err := run.Lease(ctxAfter, "e", "")
	if err != nil {
		panic(err)
	}
	return l, run, lease
}

// hold takes a lease and waits to be killed.
func hold(store string) {
	_, _, lease := holding(ledger.Config{Path: store})
	if short, err := lease.Claim(ctxAfter, held(), calls(8), calls(8)); short != nil || err != nil {
		panic(err)
	}
	fmt.Println("held")
	select {}
}

// holdAlone takes a lease and follows orders: it tries to write under the lease, to take
// another one, or to go on with a later clock.
func holdAlone(path string) {
	var late atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	l, run, lease := holding(ledger.Config{Path: path, Now: clock})
	fmt.Println("held")
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		var err error
		switch orders.Text() {
		case "call":
			key := ledger.CallKey{Digest: "e", Role: "target"}
			err = l.SaveCall(ctxAfter, base, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease})
		case "lease":
			_, err = run.Lease(ctxAfter, "f", "")
		case "later":
			late.Store(int64(11 * time.Second))
		}
		switch {
		case errors.Is(err, ledger.ErrLeaseLost):
			fmt.Println("lost")
		case errors.Is(err, ledger.ErrLeased):
			fmt.Println("leased")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("ok")
		}
	}
}

// TestWantedUntilJudged holds that a run stops wanting a digest that it has judged.
func TestWantedUntilJudged(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		one, other := &fixture{t: t, Ledger: open(t, store)}, &fixture{t: t, Ledger: open(t, store)}
		d := digestsOf("case")
		first, second := one.want(base, d.E, "later"), other.want(base)
		o := outcome(base, d, 0, "text")
		o.Lease = one.lease(first, d.E)
		one.save(o)
		time.Sleep(3100 * time.Millisecond)
		synctest.Wait()
		for digest, want := range map[string]bool{d.E: false, "later": true} {
			if wanted, err := second.Release(t.Context(), digest); err != nil || wanted != want {
				t.Errorf("%s is wanted: %v, %v, want %v", digest, wanted, err, want)
			}
		}
	})
}

// TestBeat has signs of life keep a lease for long after its time, and one tell
// a holder that writes nothing that it lost another.
func TestBeat(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		one, other := &fixture{t: t, Ledger: open(t, store)}, &fixture{t: t}
		var shift atomic.Int64 // of the other's clock, in nanoseconds
		other.Ledger = ledgertest.Open(t, ledger.Config{Path: store, Now: func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }})
		first, second := one.want(base, "e", "f"), other.want(base, "e", "f")
		kept, lost := one.lease(first, "e"), one.lease(first, "f")
		for range 100 {
			time.Sleep(time.Second)
			other.wantLeased(second, "e")
		}
		if wanted, err := second.Release(t.Context(), "e"); err != nil || !wanted {
			t.Errorf("wanted by a run that gives signs of life: %v, %v", wanted, err)
		}
		shift.Store(int64(11 * time.Second))
		other.lease(second, "f")
		shift.Store(0)
		time.Sleep(3100 * time.Millisecond)
		synctest.Wait()
		other.wantLeased(second, "e")
		for _, tt := range []struct {
			lease *ledger.Lease
			want  bool
		}{{kept, false}, {lost, true}} {
			select {
			case <-tt.lease.Lost():
				if !tt.want {
					t.Error("a lease that nobody took over is lost")
				}
			default:
				if tt.want {
					t.Error("a lease that another has is not lost")
				}
			}
		}
	})
}

// TestADecidedLeaseIsNotLost has signs of life come while the decision that
// ends a lease is written.
func TestADecidedLeaseIsNotLost(t *testing.T) {
	k := &fixture{t: t, Ledger: open(t, filepath.Join(t.TempDir(), "ledger.db"))}
	i := k.want(base)
	var signs sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		signs.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					ledger.Sign(i, ctxAfter)
				}
			}
		})
	}
	for n := range 100 {
		d := digestsOf(fmt.Sprint(n))
		o := outcome(base, d, 0, "text")
		o.Lease = k.lease(i, d.E)
		k.save(o)
		select {
		case <-o.Lease.Lost():
			t.Fatalf("lease %d is lost", n)
		default:
		}
	}
	close(done)
	signs.Wait()
	// One whose decision cannot be written goes on.
	o := outcome(base, digestsOf("later"), 0, "text")
	o.Lease, o.Executions = k.lease(i, o.Digests.E), nil
	if err := k.Save(t.Context(), o); err == nil {
		t.Fatal("a judgement of nothing was stored")
	}
	k.check(o.Lease.Release(t.Context()))
	k.lease(i, o.Digests.E)
}

// TestLeaseRace has many want one lease at once.
func TestLeaseRace(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ledger.db")
	books := []*ledger.Ledger{open(t, store), open(t, store)}
	var mu sync.Mutex
	var group sync.WaitGroup
	held := 0
	for n := range 20 {
		group.Go(func() {
			i, err := books[n%2].BeginRun(t.Context(), base, []string{"e"})
			if err != nil {
				t.Error(err)
				return
			}
			_, err = i.Lease(t.Context(), "e", "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				held++
			} else if !errors.Is(err, ledger.ErrLeased) {
				t.Error(err)
			}
			t.Cleanup(func() {
				if err := i.Close(ctxAfter); err != nil {
					t.Error(err)
				}
			})
		})
	}
	group.Wait()
	if held != 1 {
		t.Errorf("%d hold the lease", held)
	}
}
