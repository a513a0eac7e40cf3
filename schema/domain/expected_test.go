package domain

import (
	"encoding/json"
	"testing"
)

func TestInferType(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{`105`, "numeric"}, {`"105"`, "numeric"}, {`-1.5`, "numeric"}, {`"1.234,5"`, "numeric"}, {`"1,234.5"`, "numeric"},
		{`"1.234.567"`, "numeric"}, {`1e3`, "numeric"},
		{`"4539578763621486123"`, "string"}, {`"0301234567"`, "string"}, {`"007"`, "string"}, {`"0.5"`, "numeric"}, {`"0"`, "numeric"}, {`"123456789012345"`, "numeric"}, {`4539578763621486123`, "numeric"},
		{`"1,2,3"`, "string"}, {`"12.5.2024"`, "string"}, {`"105 km"`, "string"}, {`""`, "string"}, {`"yes"`, "string"},
		{`true`, "boolean"}, {`{"a":1}`, "json"}, {`[1,2]`, "json"},
	} {
		if got := inferType(json.RawMessage(tt.answer)); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.answer, got, tt.want)
		}
	}
}

func TestIsLevel(t *testing.T) {
	for _, tt := range []struct {
		folder string
		want   bool
	}{
		{"level_1", true}, {"level_27", true}, {"level_0", false}, {"level_01", false}, {"level_", false}, {"Level_1", false}, {"level_1a", false},
	} {
		if got := IsLevel(tt.folder); got != tt.want {
			t.Errorf("IsLevel(%q) = %v", tt.folder, got)
		}
	}
}
