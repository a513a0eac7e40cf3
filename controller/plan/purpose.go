package plan

// A Purpose is what samples are taken for. The ledger stores it, so values are only
// ever added.
type Purpose int8

const (
	// Judging takes samples that are due whatever the case showed before.
	Judging Purpose = iota
	// Doubting takes samples because of an earlier outcome of the case. They are no
	// part of its history, which they would make look better or worse than it is.
	Doubting
	// Collecting takes samples for the history alone.
	Collecting
)
