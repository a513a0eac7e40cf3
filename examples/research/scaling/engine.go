package main

import "container/heap"

// A station has servers for which cases wait, first come, first served.
type station struct {
	name    string
	servers int
}

// A step takes a server of a station for some seconds. A step at no station waits for
// nobody. random draws its time from an exponential distribution.
type step struct {
	at     int // the index of a station, or nowhere
	takes  float64
	random bool
}

const nowhere = -1

// A course is the subject of the simulation: a number of cases, each of which takes the
// steps one after the other. places is how many cases are in progress at once. If
// arrive is set, there are no places, and cases begin when they arrive, this many
// seconds after the one before.
type course struct {
	stations []station
	steps    []step
	cases    int
	places   int
	arrive   func() float64
	// draw returns numbers from an exponential distribution of mean 1.
	draw func() float64
}

// A use is the result for a station: for how many seconds its servers were busy, all
// together, and how long cases waited for one.
type use struct {
	busy, waited float64
}

// A simulation is a course in progress.
type simulation struct {
	course
	now    float64
	events events
	seq    int64
	begun  int
	steps  []int     // the step that each job is at; see progress
	free   []int     // servers of each station
	queues [][]int32 // jobs that wait at each station
	since  []float64 // when each job began to wait
	uses   []use
}

// An event is the end of the step of a job.
type event struct {
	at  float64
	seq int64 // of two at the same time the first that was planned comes first
	job int32
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push adds an event.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop removes the last one.
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run returns how many seconds the course takes, and how its stations are used.
func (c course) run() (makespan float64, uses []use) {
	jobs := min(c.places, c.cases)
	if c.arrive != nil {
		jobs = c.cases
	}
	s := &simulation{
		course: c, steps: make([]int, jobs), since: make([]float64, jobs),
		free: make([]int, len(c.stations)), queues: make([][]int32, len(c.stations)), uses: make([]use, len(c.stations)),
	}
	for i, station := range c.stations {
		s.free[i] = station.servers
	}
	at := 0.
	for job := range jobs {
		if c.arrive != nil {
			at += c.arrive()
		}
		s.steps[job] = -1
		s.plan(at, int32(job))
	}
	s.begun = jobs
	for len(s.events) > 0 {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		s.end(next.job)
	}
	return s.now, s.uses
}

func (s *simulation) plan(at float64, job int32) {
	s.seq++
	heap.Push(&s.events, event{at, s.seq, job})
}

// end ends the step that a job is at, and begins the next one, or the next case in its
// place.
func (s *simulation) end(job int32) {
	if i := s.steps[job]; i >= 0 && s.course.steps[i].at != nowhere {
		s.leave(s.course.steps[i].at)
	}
	s.steps[job]++
	if s.steps[job] == len(s.course.steps) {
		if s.arrive != nil || s.begun == s.cases {
			return
		}
		s.begun++
		s.steps[job] = 0
	}
	at := s.course.steps[s.steps[job]].at
	switch {
	case at == nowhere:
		s.serve(job)
	case s.free[at] > 0:
		s.free[at]--
		s.serve(job)
	default:
		s.since[job] = s.now
		s.queues[at] = append(s.queues[at], job)
	}
}

// serve begins the step that a job is at.
func (s *simulation) serve(job int32) {
	step := s.course.steps[s.steps[job]]
	takes := step.takes
	if step.random {
		takes *= s.draw()
	}
	if step.at != nowhere {
		s.uses[step.at].busy += takes
	}
	s.plan(s.now+takes, job)
}

// leave gives a server of a station to the job that has waited for longest.
func (s *simulation) leave(at int) {
	if len(s.queues[at]) == 0 {
		s.free[at]++
		return
	}
	job := s.queues[at][0]
	s.queues[at] = s.queues[at][1:]
	s.uses[at].waited += s.now - s.since[job]
	s.serve(job)
}
