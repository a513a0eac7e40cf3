//go:build !unix

package gitrepo

import "os"

// unrooted returns the folder itself: here, listing it does not describe its entries.
func unrooted(dir *os.File) (*os.File, error) { return dir, nil }
