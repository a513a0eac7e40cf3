package serve

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/reconcile"
	"github.com/gavel-evals/gavel/controller/report"
)

// TestBackground says which keys wait for the others.
func TestBackground(t *testing.T) {
	for _, tt := range []struct {
		key    Key
		number int
		want   bool
	}{
		{Key{Kind: PullRequest, Pull: 1}, 1, false},
		{Key{Kind: PullRequest, Pull: 7}, 7, false},
		{Key{Kind: Branch, Ref: "gh-readonly-queue/main/pr-7-" + "0123456789012345678901234567890123456789"}, 7, false},
		{Key{Kind: CheckRerun, Ref: "0123"}, 0, false},
		{Key{Kind: Branch, Ref: "main"}, 0, true},
		{Key{Kind: Scheduled, Ref: "main"}, 0, true},
		{Key{Kind: Sweep}, 0, true},
	} {
		if got := tt.key.number(); got != tt.number {
			t.Errorf("%+v is judged for pull request %d, want %d", tt.key, got, tt.number)
		}
		if got := tt.key.background(); got != tt.want {
			t.Errorf("%+v waits for the others: %v, want %v", tt.key, got, tt.want)
		}
	}
}

// daily has a time at each midnight.
type daily struct{}

func (daily) Next(at time.Time) time.Time { return at.Truncate(24 * time.Hour).Add(24 * time.Hour) }

// TestADueTimeThatCannotBeStored is an error: else the clock would begin again at
// each poll, and nothing would ever be due.
func TestADueTimeThatCannotBeStored(t *testing.T) {
	cfg := ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")}
	made, err := ledger.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := ledger.Read(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	repo := &repository{Repository: &Repository{Schedule: daily{}}, id: 1}
	if due, err := dueTime(t.Context(), ledger.NewServerState(store), repo, "main", time.Now()); err == nil || !due.IsZero() {
		t.Errorf("a branch that cannot be noted is due at %v, %v; want an error", due, err)
	}
}

// TestDueTimeAfterTheClockWasSetBack: a branch that was judged in the future is due at the next
// time of the schedule. Another server's clock may be a little ahead.
func TestDueTimeAfterTheClockWasSetBack(t *testing.T) {
	now := time.Date(2026, 3, 2, 23, 30, 0, 0, time.UTC)
	midnight := now.Add(30 * time.Minute)
	for _, tt := range []struct {
		name         string
		judged, want time.Time
	}{
		{"an hour ago", now.Add(-time.Hour), midnight},
		{"by a server whose clock is ahead", midnight, time.Time{}},
		{"next year", now.AddDate(1, 0, 0), midnight},
	} {
		store := ledgertest.Open(t, ledger.Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
		state, repo := ledger.NewServerState(store), &repository{Repository: &Repository{Schedule: daily{}}, id: 1}
		if err := state.SetJudged(t.Context(), 1, "main", tt.judged); err != nil {
			t.Fatal(err)
		}
		var due time.Time
		for _, at := range []time.Time{now, midnight.Add(time.Minute)} {
			var err error
			if due, err = dueTime(t.Context(), state, repo, "main", at); err != nil {
				t.Fatal(err)
			}
		}
		if !due.Equal(tt.want) {
			t.Errorf("judged %s, a branch is due at %v after midnight, want %v", tt.name, due, tt.want)
		}
	}
}

// TestLastTime makes up for the last of the times that were missed.
func TestLastTime(t *testing.T) {
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name               string
		after, until, want time.Time
	}{
		{"none", midnight, midnight.Add(time.Hour), time.Time{}},
		{"one", midnight.Add(-time.Hour), midnight, midnight},
		{"several", midnight.Add(-72 * time.Hour), midnight.Add(time.Hour), midnight},
		{"more than anybody counts", midnight.AddDate(-400, 0, 0), midnight.Add(time.Hour), midnight.Add(time.Hour)},
	} {
		if got := lastTime(daily{}, tt.after, tt.until); !got.Equal(tt.want) {
			t.Errorf("%s: the last time is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestAReportWithoutAHead is of no commit, and is not remembered.
func TestAReportWithoutAHead(t *testing.T) {
	x := &reportIndex{runs: map[reportKey]string{}, base: map[reportKey]string{}, heads: map[string][]string{}}
	if x.add(1, "octo/demo", &report.Report{Run: "1"}) || len(x.runs) > 0 {
		t.Errorf("it is remembered as %v, want nothing", x.runs)
	}
	head := "a"
	if !x.add(1, "Octo/Demo", &report.Report{Run: "1", Head: &head}) || x.add(1, "octo/demo", &report.Report{Run: "1", Head: &head}) {
		t.Error("a report is new once, want it so whatever case the repository is written in")
	}
}

// TestRefusedKeysAreRetriedAFewAtATime: the longest refused come first, and the others
// are due at the next poll. Keys of other repositories and of too short a time stay.
func TestRefusedKeysAreRetriedAFewAtATime(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	refused := &refusedKeys{since: map[Key]time.Time{}}
	for pull := 1; pull <= 5; pull++ {
		refused.note(Key{Repository: 1, Kind: PullRequest, Pull: pull}, &reconcile.Stall{}, at.Add(-time.Duration(pull)*time.Minute))
	}
	refused.note(Key{Repository: 1, Kind: PullRequest, Pull: 6}, &reconcile.Stall{}, at.Add(time.Minute))
	refused.note(Key{Repository: 2, Kind: PullRequest, Pull: 7}, &reconcile.Stall{}, at.Add(-time.Hour))
	for i, want := range [][]int{{5, 4, 3}, {2, 1}, nil} {
		var got []int
		for _, key := range refused.dueForRetry(1, at, 3) {
			got = append(got, key.Pull)
		}
		if !slices.Equal(got, want) {
			t.Errorf("poll %d retries the pull requests %v, want %v", i+1, got, want)
		}
	}
	if len(refused.since) != 2 {
		t.Errorf("%d keys are left, want the one that rests and that of another repository", len(refused.since))
	}
}

// TestBaseCandidates: a commit of a branch is compared with its earlier base, else with
// the last twenty judged commits of branches, without commits of pull requests.
func TestBaseCandidates(t *testing.T) {
	x := &reportIndex{runs: map[reportKey]string{}, base: map[reportKey]string{}, heads: map[string][]string{}}
	var want []string
	for i := range 25 {
		commit := fmt.Sprint("commit", i)
		x.put(reportKey{"Acme/shop", 0, commit}, fmt.Sprint("run", i), "")
		x.put(reportKey{"Acme/shop", 9, fmt.Sprint("pull", i)}, fmt.Sprint("runpull", i), "")
		if i >= 5 {
			want = append([]string{commit}, want...)
		}
	}
	if got := x.baseCandidates("acme/shop", "new"); !slices.Equal(got, want) {
		t.Errorf("a new commit may be compared with %v, want %v", got, want)
	}
	x.put(reportKey{"acme/shop", 0, "new"}, "last", "commit7")
	if got := x.baseCandidates("acme/shop", "new"); !slices.Equal(got, []string{"commit7"}) {
		t.Errorf("a judged commit may be compared with %v, want commit7", got)
	}
}

// TestASweepIsObservedIfItFails: else each poll would be counted as a look.
func TestASweepIsObservedIfItFails(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		key  Key
		err  error
		want bool
	}{
		{Key{Kind: Sweep}, nil, false},
		{Key{Kind: Sweep}, failed, true},
		{Key{Kind: PullRequest, Pull: 1}, nil, true},
		{Key{Kind: Branch, Ref: "main"}, failed, true},
	} {
		observed := false
		s := &Server{cfg: Config{Clock: clock.Funcs{NowFunc: time.Now}, Observer: doneObserver{done: func() { observed = true }}}, refused: &refusedKeys{since: map[Key]time.Time{}}}
		if s.done(tt.key, time.Second, tt.err); observed != tt.want {
			t.Errorf("a look at %+v with the error %v is observed: %v, want %v", tt.key, tt.err, observed, tt.want)
		}
	}
}

// hourly is a schedule.
type hourly struct{}

func (hourly) Next(after time.Time) time.Time { return after.Truncate(time.Hour).Add(time.Hour) }

// never is a schedule without a time.
type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

// TestUntilDue: a poller that waits is up when the schedule has something judged, and not
// later than it would be without one.
func TestUntilDue(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 50, 0, 0, time.UTC)
	p := &poller{cfg: Config{Clock: clock.Funcs{NowFunc: func() time.Time { return now }}}}
	for _, tt := range []struct {
		name       string
		schedule   Schedule
		most, want time.Duration
	}{
		{"before the longest wait", hourly{}, time.Hour, 10 * time.Minute},
		{"after it", hourly{}, time.Minute, time.Minute},
		{"never", never{}, time.Hour, time.Hour},
		{"without a schedule", nil, time.Hour, time.Hour},
	} {
		if got := p.untilDue(&repository{Repository: &Repository{Schedule: tt.schedule}}, tt.most); got != tt.want {
			t.Errorf("%s: the wait is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A doneObserver is told about looks alone.
type doneObserver struct {
	Unobserved
	done func()
}

func (o doneObserver) Done(Key, time.Duration, error) { o.done() }
