package childpool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema/childpool"
)

// A question is the input of a child in these tests.
type question struct{ Do, Text string }

// pool has children that say how many requests they answered before.
var pool = childpool.New(childpool.Config{
	Name: "pooltest", Serves: "pool.Serve", MaxTime: 3 * time.Second, MaxMemory: 128 << 20, MaxRequest: 1 << 20, MaxAnswer: 1 << 20,
	Confine: func() error { return nil },
})

// unserved is one that main does not serve.
var unserved = childpool.New(childpool.Config{Name: "unserved", Serves: "unserved.Serve", MaxRequest: 1 << 10, MaxAnswer: 1 << 10})

var kept [][]byte

// answer does what a question says.
func answer(before int, q question) any {
	switch q.Do {
	case "loop":
		for i := 0; ; i++ {
			before += i % 2
		}
	case "grow":
		for {
			kept = append(kept, bytes.Repeat([]byte{1}, 16<<20))
		}
	case "wait":
		time.Sleep(pool.MaxTime + pool.MaxTime/8)
	case "exit":
		os.Exit(9)
	case "large":
		return strings.Repeat("x", 2<<20)
	}
	return fmt.Sprintf("%s after %d", q.Text, before)
}

func TestMain(m *testing.M) {
	before := -1
	if pool.Serve(func(line []byte) (any, bool) {
		var q question
		if json.Unmarshal(line, &q) != nil {
			return nil, false
		}
		before++
		return answer(before, q), true
	}) {
		return
	}
	os.Exit(m.Run())
}

// ask asks the pool and returns the answer with what the child had kept.
func ask(ctx context.Context, p *childpool.Pool, q question) (said, known string, err error) {
	done, err := p.Turn(ctx)
	if err != nil {
		return "", "", err
	}
	defer done()
	err = p.Ask(ctx, childpool.Call{
		Line:   func(memory string) ([]byte, error) { known = memory; return json.Marshal(q) },
		Accept: func(line []byte) error { return json.Unmarshal(line, &said) },
		Keep:   q.Text,
	})
	return said, known, err
}

// TestOneChildAnswersSeveralRequests and remembers the one before.
func TestOneChildAnswersSeveralRequests(t *testing.T) {
	_, _, _ = ask(t.Context(), pool, question{Do: "exit"}) // another test's
	if said, known, err := ask(t.Context(), pool, question{Text: "first"}); said != "first after 0" || known != "" || err != nil {
		t.Errorf("the first answer is %q of a child that knows %q (%v)", said, known, err)
	}
	if said, known, err := ask(t.Context(), pool, question{Text: "second"}); said != "second after 1" || known != "first" || err != nil {
		t.Errorf("the second answer is %q of a child that knows %q (%v)", said, known, err)
	}
}

// TestWaitingIsNotLate: a child that waits longer than it may work still answers.
func TestWaitingIsNotLate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("all time counts on Windows")
	}
	if said, _, err := ask(t.Context(), pool, question{Do: "wait", Text: "late"}); !strings.HasPrefix(said, "late after ") || err != nil {
		t.Errorf("a child that waited says %q (%v)", said, err)
	}
}

// TestABrokenRequestCostsItsChildAlone: each ends with what it broke, and the next is
// answered by another child.
func TestABrokenRequestCostsItsChildAlone(t *testing.T) {
	for _, tt := range []struct {
		do, message string
		want        error
	}{
		{do: "loop", want: childpool.ErrTime},
		{do: "grow", want: childpool.ErrMemory},
		{do: "exit", message: "the child process gave no answer: it ended with exit status 9"},
		{do: "large", message: "token too long"},
	} {
		if _, _, err := ask(t.Context(), pool, question{Do: tt.do}); err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: the error is %v, want %v %s", tt.do, err, tt.want, tt.message)
		}
		if said, known, err := ask(t.Context(), pool, question{Text: "next"}); said != "next after 0" || known != "" || err != nil {
			t.Errorf("after %s the answer is %q of a child that knows %q (%v), want one of a new child", tt.do, said, known, err)
		}
	}
}

// TestWhatIsNotAsked: no child is asked without Serve, within an ended context, or for more
// than a line may have.
func TestWhatIsNotAsked(t *testing.T) {
	if _, _, err := ask(t.Context(), unserved, question{}); err == nil || err.Error() != "main or TestMain must call unserved.Serve first" {
		t.Errorf("a pool that is not served: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ask(ended, pool, question{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	if _, _, err := ask(t.Context(), pool, question{Text: strings.Repeat("x", 1<<20)}); err == nil || !strings.Contains(err.Error(), "at most 1048576 are taken") {
		t.Errorf("a long request: %v", err)
	}
}
