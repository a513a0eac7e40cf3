package pack

// An ExcessError says that a commit, or what was fetched for it, is larger than what
// is looked at. It is a fact about the commit: another try finds the same.
type ExcessError struct {
	// Path is the file or folder that it is about, "." for the whole commit.
	Path string
	// Message names the bound and how far it is passed, Hint what helps.
	Message, Hint string
}

// Error is the path, unless that is the whole commit, and the message.
func (e *ExcessError) Error() string {
	if e.Path == "." {
		return e.Message
	}
	return e.Path + ": " + e.Message
}
