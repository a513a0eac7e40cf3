package stats

// NewSequentialUncached makes a test from nothing, for benchmarks.
func NewSequentialUncached(history, looks int) *Sequential {
	s := &Sequential{history: history, looks: looks, critical: map[float64]int{}}
	s.order()
	return s
}

// All works out the p-value of every state and returns how many there are.
func (s *Sequential) All() int {
	for i := range s.values {
		s.level(i)
	}
	return len(s.values)
}
