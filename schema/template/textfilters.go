package template

import (
	"math"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// changed returns a filter of a text; null, undefined and false are empty.
func changed(f func(string) string) function {
	return func(c *call) (any, error) {
		s, _, err := c.textOr()
		return f(s), err
	}
}

// kept is like changed, and a marked text stays marked.
func kept(f func(string) string) function {
	return func(c *call) (any, error) {
		s, isMarked, err := c.textOr()
		return marking(f(s), isMarked), err
	}
}

func trim(c *call) (any, error) {
	s, isMarked, err := c.text()
	return marking(strings.TrimFunc(s, isSpace), isMarked), err
}

// textual returns the text of a value; null and undefined are empty.
func (c *call) textual() (string, error) {
	if absent(c.value) {
		return "", nil
	}
	return c.string(c.value)
}

func escape(c *call) (any, error) {
	if _, isMarked := c.value.(marked); isMarked {
		return c.value, nil
	}
	return forceEscape(c)
}

func forceEscape(c *call) (any, error) {
	s, err := c.textual()
	return marked(escapes.Replace(s)), err
}

func safe(c *call) (any, error) {
	s, err := c.textual()
	return marked(s), err
}

func asText(c *call) (any, error) {
	if absent(c.value) {
		return nil, c.wrong("a value")
	}
	if _, isMarked := c.value.(marked); isMarked {
		return c.value, nil
	}
	s, err := c.string(c.value)
	return s, err
}

func htmlBreaks(c *call) (any, error) {
	if absent(c.value) {
		return "", nil
	}
	s, isMarked, err := c.text()
	return marking(lineBreak.ReplaceAllString(s, "<br />\n"), isMarked), err
}

func urlencode(c *call) (any, error) {
	var pairs [][2]any
	switch v := c.value.(type) {
	case string:
		return encodeComponent(v), nil
	case []any:
		for _, item := range v {
			if absent(item) {
				return nil, c.wrong("a list of pairs")
			}
			key, _ := c.x.field(c.at, item, "0") // no name of a function
			value, _ := c.x.field(c.at, item, "1")
			pairs = append(pairs, [2]any{key, value})
		}
	case *Object:
		for _, key := range v.Keys {
			pairs = append(pairs, [2]any{key, v.Values[key]})
		}
	case marked:
		pairs = [][2]any{{"val", string(v)}, {"length", float64(length(string(v)))}}
	}
	var parts []string
	for _, pair := range pairs {
		key, err := c.string(pair[0])
		if err != nil {
			return nil, err
		}
		value, err := c.string(pair[1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, encodeComponent(key)+"="+encodeComponent(value))
	}
	return strings.Join(parts, "&"), nil
}

func urlize(c *call) (any, error) {
	s, _, err := c.text()
	if err != nil {
		return nil, err
	}
	most := -1
	if _, none := c.arg(0).(undefined); !none {
		n, err := c.count(0, 0)
		if err != nil {
			return nil, err
		}
		most = int(max(n, 0))
	}
	relation := ""
	if c.arg(1) == true {
		relation = ` rel="nofollow"`
	}
	return linked(s, most, relation), nil
}

// replace replaces a text by another, at most a number of times.
func replace(c *call) (any, error) {
	old, isText := c.arg(0).(string)
	if isNumber(c.arg(0)) {
		old, isText = written(number(c.arg(0))), true
	}
	subject := c.value
	if isNumber(subject) {
		subject, _ = Text(subject)
	}
	s, isPlain := subject.(string)
	m, isMarked := subject.(marked)
	if !isText || !isPlain && !isMarked {
		return c.value, nil
	}
	s += string(m)
	by, err := c.string(c.arg(1))
	if err != nil {
		return nil, err
	}
	if old == "" {
		if err := c.x.make(c.at, (len(s)+2)*(len(by)+4)); err != nil {
			return nil, err
		}
		if s == "" {
			return marking(by+by, isMarked), nil
		}
		return marking(strings.ReplaceAll(s, "", by), isMarked), nil
	}
	n := strings.Count(s, old)
	if most := c.arg(2); !isUndefined(most) && most != -1.0 {
		n = min(n, times(number(most)))
	}
	if n == 0 {
		return subject, nil
	}
	if err := c.x.make(c.at, n*(len(by)+1)); err != nil || n*(len(by)+1) < n {
		return nil, err
	}
	_, wasMarked := c.value.(marked)
	return marking(strings.Replace(s, old, by, n), wasMarked), nil
}

// truncate cuts a text beyond a number of characters, at a space if there is one.
func truncate(c *call) (any, error) {
	most, err := c.count(0, 255)
	if err != nil {
		return nil, err
	}
	if list, isList := c.value.([]any); isList && float64(len(list)) <= most {
		return list, nil
	}
	s, isMarked, err := c.textOr()
	if err != nil {
		return nil, err
	}
	u := units(s)
	if float64(len(u)) <= most {
		return marking(s, isMarked), nil
	}
	at := min(times(math.Floor(most)), len(u))
	if !truthy(c.arg(1)) {
		from := at
		if math.IsNaN(most) {
			from = len(u) - 1
		}
		if space := lastSpace(u, from); space >= 0 {
			at = space
		}
	}
	end := "..."
	if !absent(c.arg(2)) {
		if end, err = c.string(c.arg(2)); err != nil {
			return nil, err
		}
	}
	return marking(ofUnits(u[:at])+end, isMarked), nil
}

// lastSpace returns the position of the last space up to a position, or -1.
func lastSpace(u []uint16, from int) int {
	for at := min(from, len(u)-1); at >= 0; at-- {
		if u[at] == ' ' {
			return at
		}
	}
	return -1
}

func indent(c *call) (any, error) {
	s, isMarked, err := c.textOr()
	if err != nil || s == "" && !isMarked {
		return "", err
	}
	width, err := c.count(0, 4)
	if err != nil {
		return nil, err
	}
	lines, n := strings.Split(s, "\n"), times(width)
	if err := c.x.make(c.at, n*len(lines)); err != nil {
		return nil, err
	}
	for i := range lines {
		if i > 0 || truthy(c.arg(1)) {
			lines[i] = strings.Repeat(" ", n) + lines[i]
		}
	}
	return marking(strings.Join(lines, "\n"), isMarked), nil
}

// center puts spaces around a text; a value without a length stays as its text.
func center(c *call) (any, error) {
	if absent(c.value) || c.value == false {
		c.value = ""
	}
	width, err := c.count(0, 80)
	if err != nil {
		return nil, err
	}
	has, err := c.x.field(c.at, c.value, "length")
	if err != nil {
		return nil, err
	}
	if number(has) >= width {
		return c.value, nil
	}
	missing := width - number(has)
	before, after := times(missing/2-math.Mod(missing, 2)), times(missing/2)
	if err := c.x.make(c.at, before+after); err != nil {
		return nil, err
	}
	s, err := c.string(c.value)
	_, isMarked := c.value.(marked)
	return marking(strings.Repeat(" ", before)+s+strings.Repeat(" ", after), isMarked), err
}

func striptags(c *call) (any, error) {
	s, isMarked, err := c.textOr()
	return marking(stripTags(s, truthy(c.arg(0))), isMarked), err
}

var wordToken = lazyregexp.New(`\w+`)

// wordcount returns null for a text without words.
func wordcount(c *call) (any, error) {
	if !truthy(c.value) {
		return nil, nil
	}
	s, _, err := c.text()
	if n := len(wordToken.FindAllStringIndex(s, -1)); n > 0 {
		return float64(n), err
	}
	return nil, err
}
