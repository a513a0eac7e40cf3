package template

import (
	"slices"
	"strconv"
	"strings"
)

// A loop writes its nodes for each item of a value.
type loop struct {
	at     int
	names  []string
	over   expr
	nodes  []node
	others []node // used if there are no items
}

func (p *parser) forTag(at piece, r *reader) (node, error) {
	l := loop{at: at.at}
	for {
		name := r.take()
		if name.kind != 'a' {
			return nil, r.unexpected(name, "a name")
		}
		l.names = append(l.names, name.text)
		if _, more := r.accept(","); !more {
			break
		}
	}
	if slices.Contains(l.names, "loop") {
		return nil, mistakeAt(p.source, at.at, "the name loop is taken by the loop itself", "write another name")
	}
	err := r.expect("in")
	if err != nil {
		return nil, err
	}
	if l.over, err = whole(r); err != nil {
		return nil, err
	}
	var end *blockEnd
	if l.nodes, end, err = p.nodes("for", "else", "endfor"); err != nil {
		return nil, err
	}
	if end.name.text == "else" {
		l.others, _, err = p.nodes("for", "endfor")
	}
	return l.run, err
}

func (l *loop) run(x *execution) error {
	frame := map[string]any{}
	x.frames = append(x.frames, frame)
	defer func() { x.frames = x.frames[:len(x.frames)-1] }()
	value, err := l.over(x)
	if err != nil {
		return err
	}
	items, err := l.items(x, value)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return x.run(l.others)
	}
	for i, item := range items {
		if err := x.step(l.at); err != nil {
			return err
		}
		if err := l.bind(x, frame, item); err != nil {
			return err
		}
		frame["loop"] = pass{i, len(items)}
		if err := x.run(l.nodes); err != nil {
			return err
		}
	}
	return nil
}

// items returns a loop's items: the items of a list, the characters of a text or, for
// several names, the fields of an object or of a text.
func (l *loop) items(x *execution, value any) ([]any, error) {
	if all, ok := value.(Variables); ok {
		value = allOf(all)
	}
	switch v := value.(type) {
	case []any:
		return v, nil
	case marked:
		return x.letters(l.at, string(v))
	case string:
		items, err := x.letters(l.at, v)
		for i := range items {
			if len(l.names) > 1 {
				items[i] = append(newList(2), strconv.Itoa(i), items[i])
			}
		}
		return items, err
	case *Object:
		if len(l.names) == 1 {
			return nil, nil
		}
		items := newList(len(v.Keys))
		for _, key := range v.Keys {
			items = append(items, append(newList(2), key, v.Values[key]))
		}
		return items, x.make(l.at, len(items))
	}
	return nil, nil
}

// bind assigns an item to the names of a loop: its parts to several names.
func (l *loop) bind(x *execution, frame map[string]any, item any) error {
	if len(l.names) == 1 {
		frame[l.names[0]] = item
		return nil
	}
	if absent(item) {
		return mistakeAt(x.source, l.at, "an item of the loop is null, and has no parts for the names "+strings.Join(l.names, ", "), "write one name, or a list of lists")
	}
	for i, name := range l.names {
		part, err := x.field(l.at, item, strconv.Itoa(i))
		if err != nil {
			return err
		}
		frame[name] = part
	}
	return nil
}

// A pass is an iteration of a loop and the total number.
type pass struct{ i, n int }

// object returns the variable loop.
func (p pass) object() *Object {
	i, n := p.i, p.n
	o := newObject()
	o.Set("index", float64(i+1))
	o.Set("index0", float64(i))
	o.Set("revindex", float64(n-i))
	o.Set("revindex0", float64(n-i-1))
	o.Set("first", i == 0)
	o.Set("last", i == n-1)
	o.Set("length", float64(n))
	return o
}
