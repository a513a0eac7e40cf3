package changes

import (
	"crypto/sha256"
	"encoding/hex"
)

// Version names the content of a file.
func Version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// A Mode is what is done with a change.
type Mode int

// The modes. A change that nobody says anything about is saved.
const (
	Saving Mode = iota
	Checking
	Foreseeing
)

// ModeOf is what the action of a form does with a change.
func ModeOf(action string) Mode {
	switch action {
	case "save":
		return Saving
	case "preview":
		return Foreseeing
	default:
		return Checking
	}
}
