package report

import "time"

// An Identity has the fields that the testcase format calls generated.
type Identity struct {
	// ID is the definition's own id, else the UUIDv5 of repository and key.
	ID string `json:"id"`
	// Created is the time of the first commit that has the case, and Updated the time
	// of the last one that changed it. They are null if the available history does not
	// reach that far.
	Created *time.Time `json:"created_at"`
	Updated *time.Time `json:"updated_at"`
}
