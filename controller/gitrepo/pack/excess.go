package pack

// An ExcessError reports a commit, or its fetch, beyond the bounds. It is a fact about
// the commit: a retry finds the same.
type ExcessError struct {
	// Path is the file or folder concerned, "." for the whole commit.
	Path string
	// Message names the bound and the excess, Hint the repair.
	Message, Hint string
}

// Error returns the message, with the path unless it is the whole commit.
func (e *ExcessError) Error() string {
	if e.Path == "." {
		return e.Message
	}
	return e.Path + ": " + e.Message
}
