package report

import "time"

// An Identity has the fields that the testcase format calls generated.
type Identity struct {
	// ID is the one that the definition carries, else the UUIDv5 of repository
	// and key.
	ID string `json:"id"`
	// Created is when the first commit was made that has the case, and Updated
	// when the last one was that changed it. null where the history at hand does
	// not say.
	Created *time.Time `json:"created_at"`
	Updated *time.Time `json:"updated_at"`
}
