// Package schema describes a test: the [Case] into which every format compiles, the
// [Problem] of a bad definition, with its [Position], and the readable CUE schemas of
// the formats.
//
// It is a leaf. Package document reads files, one package per format compiles them, and
// most callers want package load, which finds, checks and compiles a whole repository.
package schema
