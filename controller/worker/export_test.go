package worker

// Sessions counts the sessions of all plans that are kept.
func (j *Judge) Sessions() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.plans {
		p.mu.Lock()
		n += len(p.sessions)
		p.mu.Unlock()
	}
	return n
}
