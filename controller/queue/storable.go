package queue

import (
	"encoding/json"
	"strconv"
)

// escape is the length of an escape such as \u0000.
const escape = 6

// storable returns a value as JSON that PostgreSQL stores: it refuses the escapes of NUL and
// of half a surrogate pair, which a reply of a model may contain. They become U+FFFD.
func storable(value any) ([]byte, error) {
	body, err := json.Marshal(value)
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		switch code := escaped(body[i:]); {
		case isHalf(code, 0xd800) && isHalf(escaped(body[i+escape:]), 0xdc00):
			i += 2*escape - 1
		case code == 0, isHalf(code, 0xd800), isHalf(code, 0xdc00):
			copy(body[i:], `\ufffd`)
			i += escape - 1
		default:
			i++ // so that the second backslash of two begins nothing
		}
	}
	return body, err
}

// isHalf reports whether a code is in the range of one half of the surrogate pairs.
func isHalf(code, first int64) bool { return code >= first && code < first+0x400 }

// escaped returns the code of the escape at the beginning of a text, or -1.
func escaped(text []byte) int64 {
	if len(text) < escape || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	code, err := strconv.ParseInt(string(text[2:escape]), 16, 64)
	if err != nil {
		return -1
	}
	return code
}
