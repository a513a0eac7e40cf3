package document

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// A Piece is a value for composing a document. One taken from another document keeps
// its positions.
type Piece struct{ node *node }

// A NamedPiece is a field of an object that is put together.
type NamedPiece struct {
	Name string
	Piece
}

// Compose returns a document whose value is a piece. The file is used for problems of
// parts from no other file.
func Compose(file string, value Piece) *Document {
	return &Document{File: file, root: value.node, flawed: len(value.node.allFlaws()) > 0}
}

// Piece returns the value at a path, or a missing one.
func (d *Document) Piece(path ...any) Piece {
	if part := d.Part(path...); part != nil {
		return Piece{part.root}
	}
	return Piece{}
}

// Missing reports whether there is no such value, or null.
func (p Piece) Missing() bool { return p.node == nil || p.node.kind == nullNode }

// TextPiece returns a text with the position of its source.
func TextPiece(at schema.Position, text string) Piece {
	raw, _ := json.Marshal(text) // a text
	return Piece{&node{pos: at, kind: stringNode, scalar: string(raw)}}
}

// TruePiece returns true.
func TruePiece(at schema.Position) Piece {
	return Piece{&node{pos: at, kind: boolNode, scalar: "true"}}
}

// ListPiece returns a list. Values that are missing are left out.
func ListPiece(at schema.Position, items ...Piece) Piece {
	out := &node{pos: at, kind: listNode}
	for _, p := range items {
		if !p.Missing() {
			out.items = append(out.items, p.node)
		}
	}
	return Piece{out}
}

// ObjectPiece returns an object. Fields whose value is missing are left out.
func ObjectPiece(at schema.Position, fields ...NamedPiece) Piece {
	out := &node{pos: at, kind: objectNode}
	for _, f := range fields {
		if !f.Missing() {
			out.fields = append(out.fields, field{f.Name, f.node.pos, f.node})
		}
	}
	return Piece{out}
}
