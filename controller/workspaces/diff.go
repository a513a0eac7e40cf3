package workspaces

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/schema"
)

// maxDiff bounds the diff that judges and programs are shown.
const maxDiff = 1 << 20

// show shows changes as git does.
func show(was, is state, changes []schema.ChangedFile) (string, error) {
	var files []gitrepo.DiffFile
	for _, c := range changes {
		files = append(files, gitrepo.DiffFile{Path: c.Path, Was: was.side(c.Path), Is: is.side(c.Path)})
	}
	text, err := gitrepo.Diff(files)
	if err != nil || len(text) <= maxDiff {
		return text, err
	}
	text = text[:maxDiff]
	return text[:strings.LastIndexByte(text, '\n')+1] + "(the rest of the diff is left out)\n", nil
}

// side is a file of a state; nil if it has none.
func (s state) side(name string) *gitrepo.DiffContent {
	c, there := s[name]
	if !there {
		return nil
	}
	return &gitrepo.DiffContent{
		Text: string(c.shown), Binary: c.shown == nil || !utf8.Valid(c.shown),
		ID: hex.EncodeToString(c.hash[:]), Executable: c.executable,
	}
}
