package gitrepo

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// converting are the attributes with which git stores another content than the file's.
var converting = []string{"filter", "ident", "working-tree-encoding"}

// unconverted returns a [UserError] if git may store another content of a file than it has
// in the working tree: only git itself can make that. An attribute counts even where
// another line takes it back.
func (r *Repository) unconverted(w *WorkTree, name string, data []byte) error {
	scopes, err := r.scopes()
	if err != nil {
		return err
	}
	how := "commit it with `git add " + name + "` and `git commit`"
	crlf := ""
	if value := option(scopes, "core", "autocrlf"); value != "" && value != "false" {
		crlf = "core.autocrlf"
	}
	for _, c := range scopes {
		if includes(c) && option(scopes, "core", "autocrlf") == "" {
			crlf = "a file that git's configuration includes"
		}
	}
	set, err := r.attributes(w, name, r.attributeFiles(scopes))
	if err != nil {
		return refuseCommit("the attributes of %s cannot be read (%v): %s", name, err, how)
	}
	for _, attribute := range set {
		if slices.Contains(converting, attribute) {
			return refuseCommit("git stores %s in another form than it has here (attribute %s, as with LFS): %s", name, attribute, how)
		}
		if attribute == "text" || attribute == "eol" || attribute == "crlf" {
			crlf = "attribute " + attribute
		}
	}
	if crlf != "" && bytes.Contains(data, []byte("\r")) {
		return refuseCommit("%s has Windows line ends, which git may convert (%s): %s", name, crlf, how)
	}
	return nil
}

// attributes returns the names of the attributes that lines for a file may set, of its
// folders and of files elsewhere.
func (r *Repository) attributes(w *WorkTree, name string, elsewhere []string) ([]string, error) {
	var set []string
	macros := map[string][]string{}
	read := func(data []byte, err error, folder string) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		below := strings.TrimPrefix(name, folder+"/")
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			if macro, ok := strings.CutPrefix(words[0], "[attr]"); ok {
				macros[macro] = append(macros[macro], setIn(words[1:])...)
			} else if strings.HasPrefix(words[0], `"`) || mayMatch(strings.ToLower(words[0]), strings.ToLower(below)) {
				set = append(set, setIn(words[1:])...)
			}
		}
		return err
	}
	for _, file := range elsewhere {
		data, err := os.ReadFile(file)
		if err := read(data, err, "."); err != nil {
			return nil, err
		}
	}
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		data, err := w.ReadFile(path.Join(folder, attributesFile))
		if err := read(data, err, folder); err != nil {
			return nil, err
		}
		if folder == "." {
			break
		}
	}
	for i := 0; i < len(set); i++ { // a macro may set another one
		more := macros[set[i]]
		delete(macros, set[i])
		set = append(set, more...)
	}
	return set, nil
}

// setIn returns the attributes that the words of a line set.
func setIn(words []string) []string {
	var out []string
	for _, word := range words {
		if name, _, _ := strings.Cut(word, "="); name != "" && !strings.ContainsAny(name[:1], "-!") {
			out = append(out, name)
		}
	}
	return out
}

// mayMatch reports whether a pattern of attributes may match a file below its folder. It is
// exact but for patterns that [path.Match] reads in another way than git.
func mayMatch(pattern, name string) bool {
	if strings.Contains(pattern, "/") {
		pattern = strings.TrimPrefix(pattern, "/")
	} else {
		name = path.Base(name)
	}
	if !strings.Contains(pattern, "**") && !strings.Contains(pattern, "[!") && !strings.Contains(pattern, "[[:") {
		match, err := path.Match(pattern, name)
		return match || err != nil
	}
	const special = `*?[]\`
	begin, end := pattern[:strings.IndexAny(pattern, special)], pattern[strings.LastIndexAny(pattern, special)+1:]
	return strings.HasPrefix(name, strings.TrimSuffix(begin, "/")) && strings.HasSuffix(name, strings.TrimPrefix(end, "/"))
}
