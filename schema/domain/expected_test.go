package domain

import (
	"encoding/json"
	"testing"
)

func TestInferType(t *testing.T) {
	for answer, want := range map[string]string{
		`105`: "numeric", `"105"`: "numeric", `-1.5`: "numeric", `"1.234,5"`: "numeric", `"1,234.5"`: "numeric",
		`"1.234.567"`: "numeric", `1e3`: "numeric",
		`"1,2,3"`: "string", `"12.5.2024"`: "string", `"105 km"`: "string", `""`: "string", `"yes"`: "string",
		`true`: "boolean", `{"a":1}`: "json", `[1,2]`: "json",
	} {
		if got := inferType(json.RawMessage(answer)); got != want {
			t.Errorf("%s is %s, want %s", answer, got, want)
		}
	}
}

func TestIsLevel(t *testing.T) {
	for folder, want := range map[string]bool{
		"level_1": true, "level_27": true, "level_0": false, "level_01": false, "level_": false, "Level_1": false, "level_1a": false,
	} {
		if got := IsLevel(folder); got != want {
			t.Errorf("IsLevel(%q) = %v", folder, got)
		}
	}
}
