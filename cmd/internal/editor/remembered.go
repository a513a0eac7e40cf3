package editor

import "sync"

// mostValues bounds the remembered values, some of which are named by requests.
const mostValues = 1000

// remembered has what was read of the files in their last known version. It is safe for
// concurrent use. Its zero value is empty.
type remembered struct {
	mu      sync.Mutex
	version uint64         // guarded by mu
	values  map[string]any // guarded by mu; by name, of version
}

// remember returns a value that is read from the files, or the remembered one if no file
// that was read has changed since. Callers do not change it. It keeps no value of files that
// were opened before a change: they may be of a folder that was replaced.
func remember[T any](s *Store, name string, read func() (T, error)) (T, error) {
	if s.cfg.Version == nil {
		return read()
	}
	version, isKnown := s.cfg.Version()
	if !isKnown {
		return read()
	}
	s.values.mu.Lock()
	out, ok := s.values.values[name].(T)
	ok = ok && s.values.version == version
	s.values.mu.Unlock()
	if ok {
		return out, nil
	}
	out, err := read()
	if err == nil && s.version == version {
		s.values.keep(version, name, out)
	}
	return out, err
}

// keep remembers a value of a version.
func (r *remembered) keep(version uint64, name string, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version < r.version {
		return // it was read for long
	}
	if version > r.version || len(r.values) >= mostValues {
		r.version, r.values = version, map[string]any{}
	}
	r.values[name] = value
}
