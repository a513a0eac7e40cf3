package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema/wildcard"
)

const attributesFile = ".gitattributes"

// converting are the attributes with which git stores another content than the file's, by
// programs or encodings that Gavel does not have.
var converting = []string{"filter", "ident", "working-tree-encoding"}

// unconverted returns a [UserError] if git may store another content of a file than it has
// in the working tree: only git itself can make that.
func (r *Repository) unconverted(w *WorkTree, name string, data []byte) error {
	c, err := w.conversions()
	if err != nil {
		return err
	}
	how := "commit it with `git add " + name + "` and `git commit`"
	set, err := c.attributes(name)
	if err != nil {
		return refuseCommit("the attributes of %s cannot be read (%v): %s", name, err, how)
	}
	for _, attribute := range converting {
		if set[attribute].isSet() {
			return refuseCommit("git stores %s in another form than it has here (attribute %s, as with LFS): %s", name, attribute, how)
		}
	}
	ends, why := c.lineEnds(set)
	if ends == kept && c.included && set["text"] == "" && set["crlf"] == "" {
		ends, why = guessed, "a file that git's configuration includes"
	}
	if ends != kept && bytes.Contains(data, []byte("\r")) {
		return refuseCommit("%s has Windows line ends, which git may convert (%s): %s", name, why, how)
	}
	return nil
}

// An attributeState is what git's files say of an attribute: [isTrue], [isFalse], [isUnspecified], its
// value, or nothing.
type attributeState string

const (
	isTrue        attributeState = "\x00true"
	isFalse       attributeState = "\x00false"
	isUnspecified attributeState = "\x00unspecified"
)

// isSet reports whether the attribute is true or has a value.
func (s attributeState) isSet() bool { return s != "" && s != isFalse && s != isUnspecified }

// An attributeLine is one line of a file with attributes.
type attributeLine struct {
	pattern string // relative to the file's folder
	macro   string // what the line defines, in the place of a pattern
	names   []string
	states  []attributeState
}

// conversions say how git converts files on their way to the object store. They cache the
// files with attributes.
type conversions struct {
	// autocrlf and foldsCase are core.autocrlf and core.ignorecase.
	autocrlf, foldsCase bool
	// filters are the filters that have a program.
	filters map[string]bool
	// included reports that the configuration includes files, which are not read, and says
	// nothing of core.autocrlf itself.
	included bool

	work *WorkTree
	// system, global and own are the files outside of the working tree.
	system, global, own string
	macros              func() (map[string]attributeLine, error)

	mu      sync.Mutex
	files   map[string]attributeFile // guarded by mu
	without map[string]bool          // folders without attributes; guarded by mu
}

type attributeFile struct {
	lines []attributeLine
	err   error
}

// newConversions reads git's configuration.
func newConversions(r *Repository, w *WorkTree) (*conversions, error) {
	scopes, err := r.scopes()
	if err != nil {
		return nil, err
	}
	c := &conversions{work: w, files: map[string]attributeFile{}, without: map[string]bool{}, filters: map[string]bool{}}
	c.system, c.global, c.own = r.attributeFiles(scopes)
	crlf, isGiven := option(scopes, "core", "autocrlf")
	c.autocrlf = isGiven && (strings.EqualFold(crlf, "input") || isOn(crlf))
	folds, isSet := option(scopes, "core", "ignorecase")
	c.foldsCase = isSet && isOn(folds)
	for _, s := range scopes {
		c.included = c.included || includes(s) && !isGiven
		if !s.Raw.HasSection("filter") {
			continue
		}
		for _, driver := range s.Raw.Section("filter").Subsections {
			if driver.HasOption("clean") || driver.HasOption("process") {
				c.filters[driver.Name] = true
			}
		}
	}
	c.macros = sync.OnceValues(c.readMacros)
	return c, nil
}

// elsewhere reads a file outside of the working tree.
func (c *conversions) elsewhere(file string) ([]attributeLine, error) {
	return c.parsed("\x00"+file, func() ([]byte, error) { return os.ReadFile(file) })
}

// in reads the attributes that a folder of the working tree has.
func (c *conversions) in(folder string) ([]attributeLine, error) {
	return c.parsed(folder, func() ([]byte, error) { return c.work.ReadFile(path.Join(folder, attributesFile)) })
}

func (c *conversions) parsed(key string, read func() ([]byte, error)) ([]attributeLine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file, ok := c.files[key]
	if !ok {
		data, err := read()
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errLink) {
			file.err = err
		} else {
			file.lines = attributeLines(string(data))
		}
		c.files[key] = file
	}
	return file.lines, file.err
}

// attributeLines parses a file. Lines that git ignores are left out.
func attributeLines(text string) []attributeLine {
	var out []attributeLine
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		var l attributeLine
		words := strings.Fields(line)
		l.pattern = words[0]
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				continue
			}
			l.pattern, _ = strconv.Unquote(quoted) // it is quoted
			words = append([]string{""}, strings.Fields(line[len(quoted):])...)
		}
		if macro, ok := strings.CutPrefix(l.pattern, "[attr]"); ok {
			l.macro = macro
		}
		for _, word := range words[1:] {
			name, value, hasValue := strings.Cut(word, "=")
			is := isTrue
			switch {
			case strings.HasPrefix(word, "-"):
				name, is = word[1:], isFalse
			case strings.HasPrefix(word, "!"):
				name, is = word[1:], isUnspecified
			case hasValue:
				is = attributeState(value)
			}
			l.names, l.states = append(l.names, name), append(l.states, is)
		}
		out = append(out, l)
	}
	return out
}

// readMacros reads the macros, which only the files of the top may define.
func (c *conversions) readMacros() (map[string]attributeLine, error) {
	macros := map[string]attributeLine{
		"binary": {names: []string{"diff", "merge", "text"}, states: []attributeState{isFalse, isFalse, isFalse}},
	}
	top := func() ([]attributeLine, error) { return c.in(".") }
	for _, read := range []func() ([]attributeLine, error){c.from(c.system), c.from(c.global), top, c.from(c.own)} {
		lines, err := read()
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.macro != "" {
				macros[l.macro] = l
			}
		}
	}
	return macros, nil
}

func (c *conversions) from(file string) func() ([]attributeLine, error) {
	return func() ([]attributeLine, error) { return c.elsewhere(file) }
}

// bare reports whether no line says something of the files in a folder, which holds in most
// repositories.
func (c *conversions) bare(folder string) (bool, error) {
	c.mu.Lock()
	known, ok := c.without[folder]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	var is bool
	if folder == "." {
		is = true
		for _, file := range []string{c.system, c.global, c.own} {
			lines, err := c.elsewhere(file)
			if err != nil {
				return false, err
			}
			is = is && len(lines) == 0
		}
	} else {
		var err error
		if is, err = c.bare(path.Dir(folder)); err != nil {
			return false, err
		}
	}
	lines, err := c.in(folder)
	if err != nil {
		return false, err
	}
	is = is && len(lines) == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	c.without[folder] = is
	return is, nil
}

// attributes returns the attributes of a file, as `git check-attr` does.
func (c *conversions) attributes(name string) (map[string]attributeState, error) {
	if bare, err := c.bare(path.Dir(name)); err != nil || bare {
		return nil, err
	}
	macros, err := c.macros()
	if err != nil {
		return nil, err
	}
	set := map[string]attributeState{}
	var fill func(l attributeLine)
	fill = func(l attributeLine) { // the last one that says something of an attribute decides
		for i, attribute := range slices.Backward(l.names) {
			if _, known := set[attribute]; known {
				continue
			}
			set[attribute] = l.states[i]
			if macro, ok := macros[attribute]; ok && l.states[i] == isTrue {
				fill(macro)
			}
		}
	}
	use := func(lines []attributeLine, below string) {
		for _, l := range slices.Backward(lines) {
			if l.macro == "" && c.matches(l.pattern, below) {
				fill(l)
			}
		}
	}
	lines, err := c.elsewhere(c.own)
	if err != nil {
		return nil, err
	}
	use(lines, name)
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		if lines, err = c.in(folder); err != nil {
			return nil, err
		}
		use(lines, strings.TrimPrefix(name, folder+"/"))
		if folder == "." {
			break
		}
	}
	for _, file := range []string{c.global, c.system} {
		if lines, err = c.elsewhere(file); err != nil {
			return nil, err
		}
		use(lines, name)
	}
	return set, nil
}

// matches reports whether a pattern of attributes matches a file below its folder.
func (c *conversions) matches(pattern, name string) bool {
	if c.foldsCase {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	if strings.HasSuffix(pattern, "/") {
		return false // folders have no attributes
	}
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	pattern = strings.ReplaceAll(strings.TrimPrefix(pattern, "/"), "[!", "[^")
	return wildcard.Match(pattern, name)
}

// lineEnds are the ways in which git stores the line ends of a file.
type lineEnds int

const (
	kept      lineEnds = iota
	guessed            // a line feed, in a file that looks like text
	converted          // a line feed
)

// lineEnds returns how git stores the line ends of a file with these attributes, and why.
// core.eol and the value of eol only say what a checkout writes.
func (c *conversions) lineEnds(set map[string]attributeState) (lineEnds, string) {
	for _, attribute := range []string{"text", "crlf"} {
		why := "attribute " + attribute
		switch set[attribute] {
		case isTrue, "input":
			return converted, why
		case isFalse:
			return kept, why
		case "auto":
			return guessed, why
		}
	}
	switch {
	case set["eol"] == "lf" || set["eol"] == "crlf":
		return converted, "attribute eol"
	case c.autocrlf:
		return guessed, "core.autocrlf"
	}
	return kept, ""
}

// unknown reports whether git stores a file in a form that only git can make.
func (c *conversions) unknown(name string) (bool, error) {
	set, err := c.attributes(name)
	if err != nil {
		return false, err
	}
	filter := set["filter"]
	return filter.isSet() && c.filters[string(filter)] || set["ident"] == isTrue || set["working-tree-encoding"].isSet(), nil
}

// stored returns the content that git would store for a file of the working tree. Filters,
// ident and encodings are left out. indexed returns what git's index has for the file.
func (c *conversions) stored(name string, data []byte, indexed func() ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(data, []byte("\r\n")) {
		return data, nil
	}
	set, err := c.attributes(name)
	if err != nil {
		return nil, fmt.Errorf("attributes of %s: %w", name, err)
	}
	switch ends, _ := c.lineEnds(set); {
	case ends == kept || ends == guessed && looksBinary(data):
		return data, nil
	case ends == guessed:
		was, err := indexed()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(was, []byte("\r\n")) && !looksBinary(was) {
			return data, nil // git leaves a file alone that was stored with them
		}
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// looksBinary reports whether git takes a content for binary when it guesses.
func looksBinary(data []byte) bool {
	printable, other := 0, 0
	for i, b := range data {
		switch {
		case b == 0, b == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			return true
		case b == '\r' || b == '\n':
		case b == '\b' || b == '\t' || b == '\f' || b == 0x1b:
			printable++
		case b < ' ' || b == 0x7f:
			other++
		default:
			printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == 0x1a {
		other-- // the end of a file of DOS
	}
	return printable>>7 < other
}
