package document

import "encoding/json"

// ParseNumber reads a number of JSON and reports whether it is one.
func ParseNumber(raw json.RawMessage) (float64, bool) {
	var n *float64
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || json.Unmarshal(raw, &n) != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// ParseText reads a string of JSON and reports whether it is one.
func ParseText(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if plain := raw[1 : len(raw)-1]; len(raw) > 1 && raw[len(raw)-1] == '"' && isPlain(plain) {
		return string(plain), true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// isPlain reports whether the inside of a JSON string is the text itself.
func isPlain(inside []byte) bool {
	for _, b := range inside {
		if b < ' ' || b > '~' || b == '\\' || b == '"' {
			return false
		}
	}
	return true
}
