package template

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
	frame := map[string]any{}
	x.frames = append(x.frames, frame)
	defer func() { x.frames = x.frames[:len(x.frames)-1] }()
	for i, item := range items {
		if err := x.step(l.at); err != nil {
			return err
		}
		l.bind(frame, item)
		frame["loop"] = pass{i, len(items)}
		if err := x.run(l.nodes); err != nil {
			return err
		}
	}
	return nil
}

// items returns a loop's items: the items of a list, the characters of a text or, for
// two names, the fields of an object.
func (l *loop) items(x *execution, value any) ([]any, error) {
	if all, ok := value.(Variables); ok {
		value = allOf(all)
	}
	switch v := value.(type) {
	case []any:
		return v, nil
	case string:
		items := make([]any, 0, len(v))
		for _, r := range v {
			items = append(items, string(r))
		}
		return items, x.make(l.at, len(v))
	case *Object:
		if len(l.names) != 2 {
			return nil, nil
		}
		items := make([]any, 0, len(v.Keys))
		for _, key := range v.Keys {
			items = append(items, []any{key, v.Values[key]})
		}
		return items, x.make(l.at, len(items))
	}
	return nil, nil
}

// bind assigns an item to the names of a loop: its parts to several names.
func (l *loop) bind(frame map[string]any, item any) {
	if len(l.names) == 1 {
		frame[l.names[0]] = item
		return
	}
	parts, _ := item.([]any)
	for i, name := range l.names {
		frame[name] = undefined{}
		if i < len(parts) {
			frame[name] = parts[i]
		}
	}
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
