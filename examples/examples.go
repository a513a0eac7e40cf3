// Package examples holds small repositories that show how tests are written,
// and the pull request that gavel demo judges.
//
// The recorded replies in them were written by hand: no model was asked.
package examples

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// domain is the repository of the domain dialect, below the folder domain.
//
//go:embed all:domain
var domain embed.FS

// domainChange is the demo's pull request on top of it, as a txtar archive; a
// file that is empty there is removed.
//
//go:embed pull_requests/domain.txtar
var domainChange []byte

// Domain gives the files of the repository of the domain dialect by their
// paths, and what the demo's pull request writes on top of them; nil removes a
// file.
func Domain() (base, change map[string][]byte, err error) {
	base, change = map[string][]byte{}, map[string][]byte{}
	err = fs.WalkDir(domain, "domain", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := domain.ReadFile(name)
		base[strings.TrimPrefix(name, "domain/")] = data
		return err
	})
	for _, f := range txtar.Parse(domainChange).Files {
		change[f.Name] = f.Data
		if len(f.Data) == 0 {
			change[f.Name] = nil
		}
	}
	return base, change, err
}
