package plan

// A Purpose is the purpose of taking samples. The ledger stores it, so values are only
// ever added.
type Purpose int8

const (
	// Judging takes samples that are due, independent of earlier results.
	Judging Purpose = iota
	// Doubting takes samples because of an earlier outcome of the case. They are
	// excluded from its history, which they would distort.
	Doubting
	// Collecting takes samples only for the history.
	Collecting
)
