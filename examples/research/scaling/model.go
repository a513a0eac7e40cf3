package main

import "math"

// The service times, in seconds, as the benchmarks of this repository measured them on two
// cores that had other work, too:
//
//   - statement and its bytes: 2,000 cases of BenchmarkStatements with pg_stat_statements,
//     planning included: 1.19 ms and 15.3 kB of write-ahead log for 5.6 statements.
//   - handling: the same cases take 5.2 s on both cores, 1.2 ms a case of it in statements.
//   - calling: 200 conversations of nine calls take 1.5 s on both cores in gavel run, the
//     models included.
//   - settling: five round trips of a settlement of shares, 0.4 ms of it in statements.
const (
	statement = 0.00021
	handling  = 0.004
	calling   = 0.0017
	settling  = 0.002
	logged    = 15_300 // bytes of log for a case of one call
	perCall   = 900    // and for each call more
	// payload is the stored size of a case and of each call, in bytes.
	payload, kept = 3_500, 700
	// flush is until the log is on disk. Others use the processors meanwhile.
	flush = 0.001
	// planning is how long a worker takes to fetch and plan a repository.
	planning = 0.5
	// polling is how many statements a worker executes each second regardless of its
	// work: four settlements of six, two signs of life of four, and five looks for
	// tasks.
	polling = 33
	// settled is how often a worker settles its share of a target, each second.
	settled = 4
)

const (
	// statements of a case before and after its calls. Each call has one.
	before, after = 3, 2
	// price is the price of a call, and rent the price of a worker for an hour, in
	// dollars.
	price, rent = 0.001, 0.05
)

// A setting is an environment in which cases are judged.
type setting struct {
	workers, places int
	// cores are the cores of each worker. If together is set they are the cores of the
	// one machine that has the workers, the database, the server and the models.
	cores    int
	together bool
	// database is how many cores it has, and slots how many calls the models answer at
	// once; 0 means any number.
	database, slots int
	latency         float64
	calls, cases    int
	repositories    int
}

// A forecast is the result for a setting.
type forecast struct {
	makespan float64
	// The shares of the time in which the processors of workers, those of the database,
	// and the lock of a target's shares are busy.
	processors, database, lock float64
	statements                 float64 // a second
	log                        float64 // bytes
	amplification              float64 // bytes of log for each that is kept
	plans                      float64 // how often a repository is fetched and planned by a worker
	dollars, rent              float64
}

// The stations of a setting.
const (
	processors = iota
	database
	models
)

// predict simulates a setting. The load of workers that poll and the planning of
// repositories are not simulated: their means are known, and added.
func (s setting) predict() forecast {
	var f forecast
	w := float64(s.workers)
	f.plans = s.planned()
	polls := w * polling * statement
	f.lock = w * settled * settling
	stations := []station{{"processors", s.cores * s.workers}, {"database", s.database}, {"models", s.slots}}
	query := database
	slow := 1 / (1 - polls/float64(max(s.database, 1)))
	if s.together {
		stations[processors].servers, query = s.cores, processors
		slow = 1 / (1 - polls/float64(s.cores))
	}
	if slow < 0 {
		f.makespan = math.Inf(1) // the database has no time for cases
		return f
	}
	model := models
	if s.slots == 0 {
		model = nowhere
	}
	steps := []step{
		{at: processors, takes: handling + planning*f.plans/float64(s.cases)},
		{at: query, takes: before * statement * slow}, {at: nowhere, takes: flush},
	}
	for range s.calls {
		steps = append(steps, step{at: processors, takes: calling}, step{at: model, takes: s.latency},
			step{at: query, takes: statement * slow}, step{at: nowhere, takes: flush})
	}
	steps = append(steps, step{at: query, takes: after * statement * slow}, step{at: nowhere, takes: flush})
	var uses []use
	f.makespan, uses = course{stations: stations, steps: steps, cases: s.cases, places: s.workers * s.places}.run()
	f.processors = uses[processors].busy / f.makespan / float64(stations[processors].servers)
	f.database = uses[query].busy / f.makespan / float64(stations[query].servers)
	n, calls := float64(s.cases), float64(s.calls)
	f.statements = n*(before+after+calls)/f.makespan + w*polling
	f.log = n * (logged + (calls-1)*perCall)
	f.amplification = (logged + (calls-1)*perCall) / (payload + (calls-1)*kept)
	f.dollars, f.rent = n*calls*price, w*rent*f.makespan/3600
	return f
}

// planned returns how often workers fetch and plan repositories: the cases of each go
// to workers at random, and every worker that gets one plans its repository.
func (s setting) planned() float64 {
	w := float64(s.workers)
	each := float64(s.cases) / float64(s.repositories)
	return float64(s.repositories) * w * (1 - math.Pow(1-1/w, each))
}

// breaks names the resource that is used up first, or that limits the setting most.
func (f forecast) breaks() string {
	switch {
	case math.IsInf(f.makespan, 1):
		return "the database only answers polls"
	case f.lock > 1:
		return "shares of a target's limit are settled late"
	case f.database > 0.9:
		return "the database"
	case f.processors > 0.9:
		return "processors of workers"
	}
	return "the models' latency"
}
