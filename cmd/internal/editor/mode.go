package editor

import (
	"crypto/sha256"
	"encoding/hex"
)

// Version names the content of a file.
func Version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// A saveMode is what is done with a change.
type saveMode int

// The modes. A change that nobody says anything about is saved.
const (
	Save saveMode = iota
	Check
	foresee
)

// parseMode is what the action of a form does with a change.
func parseMode(action string) saveMode {
	switch action {
	case "save":
		return Save
	case "preview":
		return foresee
	default:
		return Check
	}
}
