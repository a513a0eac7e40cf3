package template

import (
	"encoding/json"
	"math"
	"strings"
)

// filters are the filters of Nunjucks but random, and load of promptfoo.
var filters = map[string]function{
	// For texts.
	"upper": changed(upperCase), "lower": changed(lowerCase), "capitalize": kept(capitalize), "title": kept(titleCase), "trim": trim,
	"escape": escape, "e": escape, "forceescape": forceEscape, "safe": safe, "string": asText, "nl2br": htmlBreaks, "urlencode": urlencode, "urlize": urlize,
	"replace": replace, "truncate": truncate, "indent": indent, "center": center, "striptags": striptags, "wordcount": wordcount,
	// For numbers.
	"abs":   func(c *call) (any, error) { return math.Abs(number(c.value)), nil },
	"round": round, "int": toInt, "float": toFloat,
	// For lists and objects.
	"length": size, "first": first, "last": last, "join": join, "reverse": reverse, "sort": sorted, "list": toList, "sum": sum, "batch": batch, "slice": sliced,
	"select": selected(true), "reject": selected(false), "selectattr": withField(true), "rejectattr": withField(false),
	"groupby": groupBy, "dictsort": dictSort,
	// For anything.
	"default": otherwise, "d": otherwise, "dump": dump, "load": load,
}

func isUndefined(v any) bool { _, none := v.(undefined); return none }

// otherwise returns the value, or the argument if it is undefined; with true as the
// second argument also if it is falsy.
func otherwise(c *call) (any, error) {
	if isUndefined(c.value) || truthy(c.arg(1)) && !truthy(c.value) {
		return c.arg(0), nil
	}
	return c.value, nil
}

func dump(c *call) (any, error) {
	if isUndefined(c.value) {
		return undefined{}, nil
	}
	by := ""
	switch v := c.arg(0).(type) {
	case string:
		u := units(v)
		by = ofUnits(u[:min(len(u), 10)])
	case float64:
		by = strings.Repeat(" ", min(times(math.Floor(v)), 10))
	}
	return c.x.json(c.at, c.value, by)
}

// load returns the value that a text is in JSON.
func load(c *call) (any, error) {
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(s)) {
		return nil, c.wrong("a text that is JSON")
	}
	return decode(json.RawMessage(s)), c.x.make(c.at, len(s))
}
