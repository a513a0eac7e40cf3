package javascript

import (
	"encoding/json"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Imports and exports of modules of ECMAScript, at the beginning of a line.
var (
	defaultExport = lazyregexp.New(`(?m)^export\s+default\s+`)
	namedExport   = lazyregexp.New(`(?m)^export\s+((?:async\s+)?function\s*\*?|const|let|var|class)\s+([\w$]+)`)
	importing     = lazyregexp.New(`(?m)^import\b\s*[\w{*"']`)
	listedExport  = lazyregexp.New(`(?m)^export\s*\{([^{}]*)\}\s*;?\s*$`)
)

// Module returns an expression for a function of a file: the one that it exports under
// a name, else the file's own or default one. The file is a module of Node.js or of
// ECMAScript without imports.
func Module(source, name string) string { return module(source, name, "") }

// Value is like [Module] for a file that may export a value, which the function
// returns.
func Value(source, name string) string {
	return module(source, name, "const value = named && all && all[named] || all && all.default || all;\nif (value !== undefined) return () => value;\n")
}

func module(source, name, other string) string {
	quoted, _ := json.Marshal(name) // a text
	var b strings.Builder
	b.WriteString("(function () {\nconst module = {exports: {}};\n(function (module, exports) {")
	b.WriteString(commonJS(source))
	b.WriteString("\n})(module, module.exports);\n")
	b.WriteString("const all = module.exports, named = " + string(quoted) + ";\n")
	b.WriteString("for (const f of [named && all && all[named], all, all && all.default]) if (typeof f === 'function') return f;\n")
	b.WriteString(other)
	b.WriteString("throw new TypeError('the file exports no function' + (named ? ' ' + named : ''));\n})()")
	return b.String()
}

// commonJS converts an ECMAScript module to Node.js. A Node.js module is unchanged.
func commonJS(source string) string {
	if importing.MatchString(source) {
		return "globalThis['import'];" // which throws
	}
	var names []string
	source = namedExport.ReplaceAllStringFunc(source, func(s string) string {
		m := namedExport.FindStringSubmatch(s)
		names = append(names, m[2])
		return strings.TrimSpace(strings.TrimPrefix(s, "export"))
	})
	source = listedExport.ReplaceAllStringFunc(source, func(s string) string {
		for name := range strings.SplitSeq(listedExport.FindStringSubmatch(s)[1], ",") {
			from, to, renamed := strings.Cut(strings.TrimSpace(name), " as ")
			if !renamed {
				to = from
			}
			if from = strings.TrimSpace(from); from != "" {
				names = append(names, from+":"+strings.TrimSpace(to))
			}
		}
		return ""
	})
	source = defaultExport.ReplaceAllString(source, "module.exports.default = ")
	var b strings.Builder
	b.WriteString(source)
	for _, name := range names {
		from, to, renamed := strings.Cut(name, ":")
		if !renamed {
			to = from
		}
		b.WriteString("\n;module.exports." + to + " = " + from + ";")
	}
	return b.String()
}
