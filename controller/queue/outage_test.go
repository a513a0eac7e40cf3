package queue

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestAnOutageIsReportedTwice: at its beginning with the cause, and at its end with the
// number of failed attempts. Other errors are each reported.
func TestAnOutageIsReportedTwice(t *testing.T) {
	var outages []Outage
	var failed []string
	w := NewWorker(WorkerConfig{
		Outage: func(o Outage) { outages = append(outages, o) },
		Failed: func(err error) { failed = append(failed, err.Error()) },
	})
	away := fmt.Errorf("failed to connect:\n\t127.0.0.1: refused\n\t127.0.0.1: refused\n%w", io.ErrUnexpectedEOF)
	w.reached()
	for range 3 {
		w.fault("share the limits of targets", away)
	}
	w.fault("give a sign of life", errors.New("a bug"))
	w.reached()
	w.reached()
	w.fault("give a sign of life", io.ErrUnexpectedEOF)
	if len(outages) != 3 {
		t.Fatalf("%d reports of outages: %+v, want the beginning and the end of one, and the beginning of another", len(outages), outages)
	}
	begin, end := outages[0], outages[1]
	if begin.Duration != 0 || begin.Failures != 1 || strings.Contains(begin.Cause.Error(), "\n") || strings.Count(begin.Cause.Error(), "refused") != 1 {
		t.Errorf("it begins with %+v, want the cause on one line", begin)
	}
	if end.Duration <= 0 || end.Failures != 3 {
		t.Errorf("it ends with %+v, want 3 failures", end)
	}
	if next := outages[2]; next.Duration != 0 || next.Failures != 1 {
		t.Errorf("the next one begins with %+v", next)
	}
	if len(failed) != 1 || failed[0] != "give a sign of life: a bug" {
		t.Errorf("the other errors are %q, want one", failed)
	}
}
