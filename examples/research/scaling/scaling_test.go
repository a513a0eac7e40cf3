package main

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// exponential draws the same numbers in every test.
func exponential() func() float64 {
	return rand.New(rand.NewPCG(1, 2)).ExpFloat64
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within*want {
		t.Errorf("%s is %.5g, want %.5g within %.2g %%", what, got, want, 100*within)
	}
}

// TestMakespans are those that can be counted.
func TestMakespans(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cases, places int
		servers       int
		steps         []step
		want          float64
	}{
		{"places are all that counts", 10, 4, 1, []step{{at: nowhere, takes: 2}}, 6},
		{"one place does all", 7, 1, 1, []step{{at: nowhere, takes: 1}, {at: 0, takes: 2}}, 21},
		{"one server is behind all places", 10, 10, 1, []step{{at: 0, takes: 3}}, 30},
		{"three servers", 10, 10, 3, []step{{at: 0, takes: 3}}, 12},
		{"the server works while others think", 4, 2, 1, []step{{at: nowhere, takes: 1}, {at: 0, takes: 1}}, 5},
		{"more places than cases", 2, 50, 1, []step{{at: nowhere, takes: 5}}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, uses := course{stations: []station{{"one", tt.servers}}, steps: tt.steps, cases: tt.cases, places: tt.places}.run()
			if got != tt.want {
				t.Errorf("it takes %v s, want %v", got, tt.want)
			}
			busy := 0.
			for _, s := range tt.steps {
				if s.at == 0 {
					busy += s.takes * float64(tt.cases)
				}
			}
			if uses[0].busy != busy {
				t.Errorf("the station is busy for %v s, want %v", uses[0].busy, busy)
			}
		})
	}
}

// TestQueues compares mean waits with the formulas of Erlang, and of Pollaczek and
// Khinchine.
func TestQueues(t *testing.T) {
	const cases = 400_000
	wait := func(servers int, load float64, random bool) float64 {
		draw := exponential()
		_, uses := course{
			stations: []station{{"queue", servers}}, steps: []step{{at: 0, takes: 1, random: random}}, cases: cases,
			arrive: func() float64 { return draw() / (load * float64(servers)) }, draw: draw,
		}.run()
		return uses[0].waited / cases
	}
	near(t, "the wait of M/M/1 at half its load", wait(1, 0.5, true), 1, 0.03)
	near(t, "the wait of M/D/1 at half its load", wait(1, 0.5, false), 0.5, 0.03)
	near(t, "the wait of M/M/3 at 0.8 of its load", wait(3, 0.8, true), erlangC(3, 2.4)/(3*(1-0.8)), 0.04)
}

// erlangC is the probability that all servers are busy, at so many Erlang.
func erlangC(servers int, erlang float64) float64 {
	term, sum := 1., 1.
	for k := 1; k < servers; k++ {
		term *= erlang / float64(k)
		sum += term
	}
	term *= erlang / float64(servers)
	last := term / (1 - erlang/float64(servers))
	return last / (sum + last)
}

// TestAClosedNetwork compares throughput with the mean value analysis of ten cases that
// think for 9 s and take 1 s of one server.
func TestAClosedNetwork(t *testing.T) {
	const cases, places, think = 100_000, 10, 9.
	queue, throughput := 0., 0.
	for n := 1.; n <= places; n++ {
		response := 1 + queue
		throughput = n / (think + response)
		queue = throughput * response
	}
	makespan, _ := course{
		stations: []station{{"server", 1}}, cases: cases, places: places, draw: exponential(),
		steps: []step{{at: nowhere, takes: think, random: true}, {at: 0, takes: 1, random: true}},
	}.run()
	near(t, "throughput", cases/makespan, throughput, 0.02)
}

// TestForecasts have what follows from a setting by itself.
func TestForecasts(t *testing.T) {
	few := setting{workers: 10, places: 32, cores: 2, database: 16, latency: 2, calls: 3, cases: 20_000, repositories: 20}
	f := few.predict()
	if least := 20_000 * 3 * 2.0 / 320; f.makespan < least || f.makespan > 1.2*least {
		t.Errorf("it takes %.0f s, want a little more than the %.0f s that the models take", f.makespan, least)
	}
	near(t, "what the models cost", f.dollars, 60, 1e-9)
	near(t, "how often a repository is planned", f.plans, 200, 1e-6)
	slots := few
	slots.slots = 50
	if g := slots.predict(); g.makespan < 20_000*3*2.0/50 {
		t.Errorf("with 50 calls at once it takes %.0f s, want at least %.0f", g.makespan, 20_000*3*2.0/50)
	}
	many := few
	many.workers = 1000
	if g := many.predict(); g.lock < 1 || !strings.Contains(g.breaks(), "shares") {
		t.Errorf("the lock of a share is busy for %.2f of the time with a thousand workers, which is held back by %s", g.lock, g.breaks())
	}
	many.database = 4
	if g := many.predict(); !math.IsInf(g.makespan, 1) {
		t.Errorf("a database of 4 cores is polled by a thousand workers, and has time for cases: %.0f s", g.makespan)
	}
	near(t, "bytes of log for each that is kept", f.amplification, 17100./4900, 1e-9)
}

// TestThePageHasTheTable as the command prints it, without the largest settings, which
// take long.
func TestThePageHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../examples/deploy/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	grid(&printed, 100_000)
	local(&printed)
	for _, line := range strings.Split(strings.TrimSpace(printed.String()), "\n") {
		if workers, rest, found := strings.Cut(line, " workers: 200 conversations in "); found {
			predicted, rate, _ := strings.Cut(rest, ", ")
			rate, _, _ = strings.Cut(rate, " times")
			line = "| " + workers + " | " + predicted + " | " + rate + " | "
		}
		if !strings.Contains(string(page), line) {
			t.Errorf("the page has no line %q", line)
		}
	}
}
