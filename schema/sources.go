package schema

import "embed"

//go:embed *.cue
var sources embed.FS

// StoredShapes has a line for each definition of the built-in schemas: its name, a tab, and its
// shape as JSON. Package document reads it.
//
//go:embed shapes.txt
var StoredShapes string

// CUE returns the text of a built-in schema file, such as domain.cue.
func CUE(name string) (string, error) {
	src, err := sources.ReadFile(name)
	return string(src), err
}

// Sources returns every file of the built-in schemas by name.
func Sources() map[string]string {
	out := map[string]string{}
	entries, err := sources.ReadDir(".")
	for _, e := range entries {
		if text, readErr := CUE(e.Name()); err == nil && readErr == nil {
			out[e.Name()] = text
		}
	}
	return out
}
