package target

import "github.com/gavel-evals/gavel/schema"

// pixel is an image, as far as a provider can tell before it decodes it.
var pixel = schema.Block{Type: "image", Data: []byte("\x89PNG\r\n\x1a\n"), Media: "image/png", Path: "shots/a.png"}

// looks is a message with text, an image and a file.
func looks(role string) schema.Message {
	return schema.Message{Role: role, Content: "See:\n\nnotes", Blocks: []schema.Block{
		{Type: "text", Text: "See:"}, pixel, {Type: "text"}, {Type: "file", Text: "notes", Path: "shots/notes.txt"},
	}}
}

// binary is a message with a file that is no text.
func binary(role string) schema.Message {
	return schema.Message{Role: role, Content: "See.", Blocks: []schema.Block{
		{Type: "text", Text: "See."}, {Type: "file", Data: []byte{0xff}, Path: "a.bin"},
	}}
}

// fileOnly is a message whose only content is a file.
func fileOnly(role string) schema.Message {
	return schema.Message{Role: role, Content: "notes", Blocks: []schema.Block{{Type: "file", Text: "notes\n", Path: "a.txt"}}}
}

// looked is what a tool gives back that looks at an image.
func looked(call string) schema.Message {
	m := looks(schema.RoleTool)
	m.ToolCallID = call
	return m
}
