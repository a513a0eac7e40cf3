package serve

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/serverstate"
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
	if due, err := dueTime(t.Context(), serverstate.New(store), repo, "main", time.Now()); err == nil || !due.IsZero() {
		t.Errorf("a branch that cannot be noted is due at %v, %v; want an error", due, err)
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
