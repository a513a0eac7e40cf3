// Package schema is what Gavel knows of test definitions: the canonical
// [Case] into which every dialect compiles, the [Problem] that a bad
// definition gives, and the readable CUE schemas that say what is allowed.
//
// It is a leaf. The packages below it decode one dialect each; most callers
// want schema/load, which finds, checks and compiles a whole repository.
package schema
