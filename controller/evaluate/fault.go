package evaluate

// A Fault is an error of [Ask] itself, such as a journal that cannot be written, and
// not of the model. It does not depend on the measured answer, so it ends the work
// instead of becoming a result.
type Fault struct{ Err error }

// Error returns the text of Err.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }
