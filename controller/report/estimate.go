package report

// An Estimate is what carrying out a plan will take: all samples with the
// calls of simulated users, judges and comparisons, of every target, and of
// base's cases that have to be judged. Calls of tools are not in it.
type Estimate struct {
	Calls int `json:"calls"`
	// RetryCalls is how many more there may be where cases that fail are run again.
	RetryCalls int `json:"retry_calls"`
	// USD is null where a price is not known.
	USD *float64 `json:"cost_usd"`
}
