package ledger_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// wantRows compares the number of leases that are rows.
func (k *fixture) wantRows(want int) {
	k.t.Helper()
	got := -1
	err := k.Store().Each(k.t.Context(), func(rows *sql.Rows) error { return rows.Scan(&got) }, "SELECT count(*) FROM leases")
	if err != nil || got != want {
		k.t.Errorf("%d leases are rows, want %d (%v)", got, want, err)
	}
}

func (k *fixture) callUnder(lease *ledger.Lease, digest string) error {
	key := ledger.CallKey{Digest: digest, Role: "target"}
	return k.SaveCall(k.t.Context(), base, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease})
}

// TestAProcessThatIsAloneWritesNoLeases does so until another process begins a run, and
// again after both have ended.
func TestAProcessThatIsAloneWritesNoLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	one, other := &fixture{t: t, Ledger: open(t, path)}, &fixture{t: t, Ledger: open(t, path)}
	d, later := digestsOf("case"), digestsOf("later")
	first, err := one.BeginRun(t.Context(), base, []string{d.E, later.E}, d.J, later.J)
	one.check(err)
	lease, kept := one.lease(first, d.E), one.lease(first, "kept")
	one.check(one.callUnder(lease, d.E))
	one.wantRows(0)
	same := one.want(base)
	one.wantLeased(same, d.E)
	one.lease(same, "of the same process")
	short := one.lease(first, "short")
	one.check(short.Release(t.Context()))
	one.lease(same, "short")
	if err := one.callUnder(short, "short"); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Errorf("a call under a lease that was released: %v", err)
	}
	one.wantRows(0)

	second, err := other.BeginRun(t.Context(), base, nil)
	other.check(err)
	other.wantLeased(second, d.E)
	other.wantLeased(second, "of the same process")
	one.wantRows(4)
	one.check(one.callUnder(lease, d.E))
	next := other.lease(second, later.E)
	one.wantLeased(first, later.E)
	other.wantRows(5)
	ledger.Sign(first, t.Context())
	for name, x := range map[string]*ledger.Lease{"in use": lease, "idle": kept} {
		select {
		case <-x.Lost():
			t.Errorf("the lease that is %s is lost", name)
		default:
		}
	}
	o := outcome(base, d, 0, "text")
	o.Lease = lease
	one.save(o)
	one.check(kept.Release(t.Context()))
	other.check(next.Release(t.Context()))
	other.wantRows(2)
	other.lease(second, d.E)
	other.lease(second, "kept")

	for _, end := range []func() error{
		func() error { return first.Close(t.Context()) }, func() error { return same.Close(t.Context()) }, func() error { return second.Close(t.Context()) },
	} {
		one.check(end())
	}
	other.lease(other.want(base), d.E)
	other.wantRows(0)
}

// TestLeasesThatCannotBeStoredYetAreHeld has the transaction fail that makes leases rows:
// they are held as before, and the next one stores them.
func TestLeasesThatCannotBeStoredYetAreHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	one, other := &fixture{t: t, Ledger: open(t, path)}, &fixture{t: t, Ledger: open(t, path)}
	first := one.want(base)
	lease := one.lease(first, "e")
	full := errors.New("the disk is full")
	err := one.Store().Submit(t.Context(), func(tx *store.Tx) error {
		_, err := ledger.StoreKept(one.Ledger, tx)
		return errors.Join(err, full)
	})
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	one.wantRows(0)
	one.check(one.callUnder(lease, "e"))
	one.lease(first, "f")
	one.wantRows(2)
	other.wantLeased(other.want(base), "e")
	one.check(one.callUnder(lease, "e"))
}

// TestAnOutcomeThatEndsWhileLeasesAreStored has the row of its lease removed.
func TestAnOutcomeThatEndsWhileLeasesAreStored(t *testing.T) {
	one := &fixture{t: t, Ledger: open(t, filepath.Join(t.TempDir(), "ledger.db"))}
	first := one.want(base)
	o := outcome(base, digestsOf("case"), 0, "text")
	o.Lease = one.lease(first, o.Digests.E)
	o.Also = func(tx *store.Tx) error { // after the lease was checked
		_, err := ledger.StoreKept(one.Ledger, tx)
		return err
	}
	one.save(o)
	one.wantRows(0)
	one.lease(first, o.Digests.E)
}

// TestABlankLeaseInMemory holds that what a run learned at its beginning is used only for the
// first lease on a digest.
func TestABlankLeaseInMemory(t *testing.T) {
	k := &fixture{t: t, Ledger: open(t, filepath.Join(t.TempDir(), "ledger.db"))}
	stored, fresh, judged := digestsOf("stored"), digestsOf("fresh"), digestsOf("judged")
	k.save(outcome(base, stored, 0, "text"))
	key := ledger.CallKey{Digest: judged.J, Role: "judge"}
	k.check(k.SaveCall(t.Context(), base, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch}))
	run, err := k.BeginRun(t.Context(), base, []string{stored.E, fresh.E, judged.E}, stored.J, fresh.J, judged.J)
	k.check(err)
	defer run.Close(ctxAfter) //nolint:errcheck // the ledger is closed next
	for _, tt := range []struct {
		name, e, j string
		want       bool
	}{
		{"a digest with samples", stored.E, stored.J, false},
		{"a digest whose judge was called", judged.E, judged.J, false},
		{"a digest with nothing", fresh.E, fresh.J, true},
		{"the same digest after a call", fresh.E, fresh.J, false},
	} {
		lease, err := run.Lease(t.Context(), tt.e, tt.j)
		k.check(err)
		if lease.Blank() != tt.want {
			t.Errorf("the lease on %s is blank: %v, want %v", tt.name, lease.Blank(), tt.want)
		}
		k.check(k.callUnder(lease, tt.e))
		k.check(lease.Release(t.Context()))
	}
	k.wantRows(0)
}

// TestTwoProcessesCallOnce has a process work through cases, and another one begin and end
// in the middle again and again: nobody works on a case that another has in work or has done.
func TestTwoProcessesCallOnce(t *testing.T) {
	const n, workers = 400, 8
	path := filepath.Join(t.TempDir(), "ledger.db")
	var made [n]atomic.Int64
	work := func(l *ledger.Ledger, run *ledger.RunHandle, i int) error {
		d := digestsOf(fmt.Sprint(i))
		lease, err := run.Lease(t.Context(), d.E, d.J)
		if errors.Is(err, ledger.ErrLeased) {
			return nil
		}
		if err != nil {
			return err
		}
		if !lease.Blank() {
			if stored, err := ledger.LoadCase(t.Context(), l, ledger.Scope{Trust: base}, d.E, d.J); err != nil || len(stored.Executions) > 0 {
				return errors.Join(err, lease.Release(t.Context()))
			}
		}
		made[i].Add(1)
		time.Sleep(2 * time.Millisecond) // as a call takes some time
		key := ledger.CallKey{Digest: d.E, Role: "target"}
		if err := l.SaveCall(t.Context(), base, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch, Lease: lease}); err != nil {
			return err
		}
		o := outcome(base, d, 0, "text")
		o.Lease = lease
		return l.Save(t.Context(), o)
	}
	process := func(from, to int) error {
		l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
		if err != nil {
			return err
		}
		run, err := l.BeginRun(t.Context(), base, nil)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		var group sync.WaitGroup
		fault := make(chan error, workers)
		for w := range workers {
			group.Go(func() {
				var err error
				for i := from + w; i < to; i += workers {
					err = errors.Join(err, work(l, run, i))
				}
				fault <- err
			})
		}
		group.Wait()
		close(fault)
		err = nil
		for one := range fault {
			err = errors.Join(err, one)
		}
		return errors.Join(err, run.Close(t.Context()), l.Close())
	}
	var group sync.WaitGroup
	for p := range 2 {
		group.Go(func() {
			for from := 0; from < n; from += n / (1 + 9*p) {
				if err := process(from, min(n, from+n/(1+9*p))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for i := range made {
		if got := made[i].Load(); got != 1 {
			t.Errorf("case %d was called for %d times", i, got)
		}
	}
}

// startHolder starts a process that is alone and has the lease on e.
func startHolder(t *testing.T, path string) (cmd *exec.Cmd, say func(string) string) {
	t.Helper()
	k := &fixture{t: t}
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_HOLD="+path, "LEDGER_TEST_ALONE=1")
	in, err := cmd.StdinPipe()
	k.check(err)
	out, err := cmd.StdoutPipe()
	k.check(err)
	k.check(cmd.Start())
	lines := bufio.NewReader(out)
	hear := func() string {
		line, err := lines.ReadString('\n')
		k.check(err)
		return line
	}
	if said := hear(); said != "held\n" {
		t.Fatal(said)
	}
	return cmd, func(order string) string {
		_, err := fmt.Fprintln(in, order)
		k.check(err)
		return hear()
	}
}

// TestAKilledProcessHoldsNothing waits for it neither in general nor for its lease.
func TestAKilledProcessHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	k := &fixture{t: t, Ledger: open(t, path)}
	cmd, say := startHolder(t, path)
	if said := say("call"); said != "ok\n" {
		t.Fatal(said)
	}
	k.wantRows(0)
	k.check(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	run := k.want(base)
	start := time.Now()
	lease, err := run.Lease(t.Context(), "e", "")
	k.check(err)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the lease took %v", took)
	}
	if lease.Blank() {
		t.Error("the lease is blank after a call of the killed process")
	}
}

// TestAProcessThatIsStoppedLosesItsLeases has another process go on after the time of the
// leases; the first notices before it writes and before it works on anything else.
func TestAProcessThatIsStoppedLosesItsLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	cmd, say := startHolder(t, path)
	var late atomic.Int64
	other := &fixture{t: t, Ledger: ledgertest.Open(t, ledger.Config{
		Path: path, Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
	})}
	k := other
	k.check(cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(100 * time.Millisecond) // the kernel stops it soon
	run := other.want(base)
	waited := make(chan error, 1)
	go func() {
		_, err := run.Lease(t.Context(), "e", "")
		waited <- err
	}()
	select {
	case err := <-waited:
		t.Fatalf("the lease of a process that is only silent for a moment was taken over: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	late.Store(int64(11 * time.Second))
	k.check(<-waited)
	other.lease(run, "f")
	k.check(cmd.Process.Signal(syscall.SIGCONT))
	for _, order := range [][2]string{{"later", "ok\n"}, {"call", "lost\n"}, {"lease", "leased\n"}} {
		if said := say(order[0]); said != order[1] {
			t.Errorf("%s: %q, want %q", order[0], said, order[1])
		}
	}
}

// TestCollectionSparesLeasesInMemory removes nothing that is in work, in the same process and
// in another one.
func TestCollectionSparesLeasesInMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for n, collector := range []*fixture{{t: t, Ledger: open(t, path)}, {t: t, Ledger: open(t, path)}} {
		holder := &fixture{t: t, Ledger: collector.Ledger}
		if n == 1 {
			holder.Ledger = open(t, path)
		}
		d := digestsOf(fmt.Sprint(n))
		run, err := holder.BeginRun(t.Context(), base, nil)
		holder.check(err)
		lease := holder.lease(run, d.E)
		holder.check(holder.callUnder(lease, d.E))
		holder.wantRows(0)
		removed, err := collector.Collect(t.Context(), ledger.Collection{Before: epoch.Add(time.Hour)})
		if err != nil || removed.Calls != 0 {
			t.Errorf("collector %d removed %+v, %v", n, removed, err)
		}
		holder.check(run.Close(t.Context()))
		removed, err = collector.Collect(t.Context(), ledger.Collection{Before: epoch.Add(time.Hour)})
		if err != nil || removed.Calls != 1 {
			t.Errorf("collector %d removed %+v afterwards, %v", n, removed, err)
		}
	}
}
