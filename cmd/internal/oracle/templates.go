package oracle

import (
	_ "embed" // for the answers
	"fmt"
	"slices"
	"strings"
)

// NunjucksVersion is the version of Nunjucks that filled in the templates.
const NunjucksVersion = "3.2.4"

// Variables are the variables that all templates have, as JSON.
const Variables = `{
	"s": "hello world", "t": "  <b>Bold</b> & \"q\"  ", "u": "Grüße é", "e": "", "lines": "one\ntwo\n\nthree", "num": "42", "dec": "3.75px", "url": "see http://example.org/a?b=1 now", "long": "The quick brown fox jumps over the lazy dog and runs away from the bear",
	"n": 3, "f": 2.5, "neg": -4, "z": 0, "big": 1e21, "small": 0.000001,
	"yes": true, "no": false, "nil": null,
	"l": [3, 1, 2], "words": ["b", "a", "C", "a"], "el": [], "one": [5], "mixed": [1, "1", null, true, [2], {"k": 1}], "pairs": [["a", 1], ["b", 2]],
	"people": [{"name": "Ann", "age": 30, "admin": true, "o": {"x": 1}}, {"name": "bo", "age": 4, "admin": false, "o": {"x": 0}}, {"name": "Cy", "age": 30}],
	"o": {"z": 1, "a": {"b": [7]}, "B": "x"}, "eo": {}
}`

// names are the variables in the order of their use, and one that is missing.
var names = []string{"s", "t", "u", "e", "lines", "num", "dec", "url", "long", "n", "f", "neg", "z", "big", "small", "yes", "no", "nil", "l", "words", "el", "one", "mixed", "pairs", "people", "o", "eo", "missing"}

// forms are expressions of one variable.
var forms = []string{"%s", "%s ~ '|'", "%s + 1", "1 + %s", "%s + 'x'", "-%s", "not %s", "%s if %[1]s else 'no'", "%s or 'd'", "%s and 'd'", "%s.length", "%s[0]", "%s.name", "%s['a']", "%s * 2", "%s // 2", "%s % 2", "%s ** 2", "[%s]", "{k: %s}", "(%s)"}

// filterNames are the filters of Nunjucks that give the same every time, and promptfoo's.
var filterNames = []string{
	"abs", "batch", "batch(2)", "capitalize", "center", "center(15)", "default('d')", "default('d', true)", "d('d')", "dictsort", "dump", "dump(2)", "e", "escape", "first", "float", "float(7)", "forceescape", "groupby('age')", "indent", "indent(2, true)", "int", "int(7)", "join", "join(', ')", "join('-', 'name')",
	"last", "length", "list", "lower", "nl2br", "reject", "rejectattr('admin')", "replace('o', '0')", "replace('a', 'b', 1)", "replace('', '-')", "reverse", "round", "round(1)", "round(0, 'ceil')", "round(0, 'floor')", "safe", "select", "selectattr('admin')", "slice(2)", "slice(2, 'x')", "sort", "sort(true)", "sort(false, true)", "sort(attribute='age')",
	"string", "striptags", "striptags(true)", "sum", "sum('age')", "sum('age', 10)", "title", "trim", "truncate(8)", "truncate(8, true)", "truncate(8, false, '…')", "upper", "urlencode", "urlize", "wordcount", "load", "tojson",
}

// testNames are the tests after is.
var testNames = []string{
	"callable", "defined", "undefined", "divisibleby(2)", "escaped", "equalto(3)", "eq('42')", "sameas(true)", "even", "odd", "falsy", "truthy", "ge(3)", "gt(2)", "greaterthan(3)", "le(3)", "lt(3)", "lessthan(3)", "ne(3)", "lower", "upper", "none", "null", "number", "string", "boolean", "iterable", "mapping", "not defined", "not string",
}

// operators are written between two values.
var operators = []string{"==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "not in", "+", "-", "*", "/", "//", "%", "**", "~", "and", "or"}

// operands are of each kind.
var operands = []string{"s", "num", "e", "n", "neg", "z", "yes", "no", "nil", "l", "el", "o", "missing", "'a'", "3", "2.5"}

// written are templates that are written one by one.
var written = []string{
	// Texts, comments and white space.
	"", "plain", "{ }", "{{ s }}", "a {{s}} b", "{{s}}{{s}}", "{{\ns\n}}", "a {{- s -}} b", " a \n {{- s }} \n b", "{{ s -}} \n b", "{# c #}x", "a{#- c -#} b", "a {# {{ s }} #} b", "{#x", "{% raw %}{{ s }}{% endraw %}", "{%raw%}{%if%}{%endraw%}", "{%- raw -%} x {%- endraw -%} y", "{% raw %} {% raw %} {% endraw %} {% endraw %}", "{% verbatim %}{{ s }}{% endverbatim %}", "{% raw %}x", "}} %} #}", "{{ '}}' }}", "{{ \"{{\" }}", "{{ '%}' }}", "{% if '%}' %}y{% endif %}", "$1 $& \\n", "a\\{{ s }}", "{{{ s }}}", "{{ {} }}", "{{ {a: {b: 1}}.a.b }}", "\n{{ s }}\n", "{% if yes %}\nx\n{% endif %}\n", "{%if yes%}x{%endif%}", "{%- if yes -%} x {%- endif -%} y", "{%+ if yes %}x{% endif %}",
	// Literals.
	"{{ 1 }} {{ 1.5 }} {{ 1e3 }}", "{{ 1.0 }} {{ 100000000000000000000000 }} {{ 0.1 + 0.2 }}", "{{ .5 }}", "{{ 5. }}", "{{ 0x10 }}", "{{ 1_000 }}", "{{ 'a\\'b' }} {{ \"a\\\"b\" }} {{ 'a\\nb\\tc\\\\d' }}", "{{ 'a\\u00e9' }}", "{{ 'a\\qb' }}", "{{ `x` }}", "{{ true }} {{ false }} {{ none }} {{ null }}", "{{ True }} {{ False }} {{ None }}", "{{ [] }} {{ [1] }} {{ [1, 2] }}", "{{ [1, 2,] }}", "{{ [,] }}", "{{ (1, 2) }}", "{{ {a: 1} | dump }}", "{{ {'a': 1, \"b\": 2} | dump }}", "{{ {a: 1,} | dump }}", "{{ {1: 2} | dump }}", "{{ {(s): 1} | dump }}", "{{ r/h.l/.test(s) }}", "{{ s | replace(r/o/g, '0') }}", "{{ undefined }}", "{{ NaN }} {{ Infinity }}", "{{ this }}", "{{ '' }}", "{{ ' ' }}", "{{ 'é' }}",
	// Precedence.
	"{{ 1 + 2 * 3 }}", "{{ (1 + 2) * 3 }}", "{{ 2 ** 3 ** 2 }}", "{{ -2 ** 2 }}", "{{ 10 - 4 - 3 }}", "{{ 10 / 4 / 2 }}", "{{ 7 // 2 * 2 }}", "{{ 1 + 2 ~ 3 + 4 }}", "{{ 1 ~ 2 * 3 }}", "{{ not yes or yes }}", "{{ not (yes and no) }}", "{{ yes or no and no }}", "{{ 1 < 2 == true }}", "{{ 1 < 2 < 3 }}", "{{ 3 > 2 > 1 }}", "{{ 1 == 1 == 1 }}", "{{ 1 + 1 in [2] }}", "{{ not 1 in [2] }}", "{{ 'a' in 'abc' and 'd' not in 'abc' }}", "{{ 1 if no else 2 if no else 3 }}", "{{ (1 if yes) }}", "{{ 1 if no }}", "{{ 1 if yes else }}", "{{ s | upper | lower }}", "{{ s | upper ~ 'x' }}", "{{ 'x' ~ s | upper }}", "{{ 1 + n | abs }}", "{{ -neg | abs }}", "{{ (1 + 2) | string ~ 'x' }}", "{{ not no | string }}", "{{ n is odd and n is number }}", "{{ n is odd if yes else 'x' }}", "{{ n is not odd or yes }}", "{{ not n is odd }}", "{{ n + 1 is even }}", "{{ l | length > 2 }}", "{{ l | length == 3 and 'y' }}", "{{ l | first + 1 }}", "{{ s | length * 2 }}", "{{ - - 3 }}", "{{ +3 }}", "{{ +'3' }}", "{{ !yes }}", "{{ yes && no }}", "{{ yes || no }}", "{{ yes ? 1 : 2 }}", "{{ n++ }}", "{{ n = 3 }}", "{{ s s }}", "{{ 1 2 }}", "{{ s | }}", "{{ | upper }}", "{{ s || upper }}", "{{ s | upper() }}", "{{ s | upper(1) }}", "{{ s|upper|title }}", "{{ s | 'upper' }}", "{{ s | nope }}", "{{ s | upper.x }}", "{{ s | nope.nope }}", "{{ 1 + }}", "{{ * 2 }}", "{{ ( 1 }}", "{{ 1 ) }}", "{{ [1 }}", "{{ {a: 1 }}", "{{ {a 1} }}", "{{ s. }}", "{{ .s }}", "{{ s..length }}", "{{ s[ }}", "{{ s[] }}", "{{ }}", "{{", "{{ s", "{{ s }", "{{ s %}", "{% s %}", "{% %}", "{%", "{% if %}", "{{ 'x }}", "{{ @ }}", "{{ # }}", "{{ a; b }}", "{{ s, n }}", "{{ yes is }}", "{{ yes is nope }}", "{{ not }}", "{{ 3 in }}", "{{ in l }}",
	// JavaScript's order of operators, and its letters.
	"{{ not n == 4 }}", "{{ not n == 3 }}", "{{ not n in l }}", "{{ not n > 2 }}", "{{ not yes == no }}", "{{ 2 * 7 // 2 }}", "{{ 7 // 5 % 3 }}", "{{ 2 * 7 % 4 }}", "{{ 1 - 2 + 3 ~ 4 - 1 }}", "{{ 1 ~ 2 == '12' }}", "{{ '1' ~ 2 + 3 }}", "{{ 4 - 2 - 1 ~ 'x' }}", "{{ n == 3 ~ '' }}", "{{ 1 < 2 ~ '' }}", "{{ n is odd == true }}", "{{ n in l == true }}", "{{ -n is odd }}", "{{ - n + n }}", "{{ n - -n }}", "{{ n + +n }}", "{{ n * -n }}", "{{ --n }}", "{{ +-n }}", "{{ -+n }}", "{{ not -n }}", "{{ not not n }}", "{{ n > 2 and n < 4 or no }}", "{{ l and l.length or 'none' }}", "{{ (n > 2) == (n < 4) }}", "{{ n if n > 5 else 'small' ~ '!' }}", "{{ 'a' if yes else 'b' | upper }}",
	"{{ 'ΟΔΟΣ' | lower }} {{ 'ŉ' | upper }} {{ 'ﬁ' | capitalize }} {{ 'İ' | lower | length }}", "{{ 'a👍b' | length }} {{ 'a👍b'.length }} {{ 'a👍b' | list | length }}", "{{ 'a👍b' | truncate(3, true) }} {{ 'a👍b' | center(6) }}|", "{% for c in 'a👍' %}x{% endfor %}", "{{ 'a👍b'.indexOf('b') }} {{ 'a👍b'.slice(3) }}", "{{ 'a👍b' | urlencode }} {{ 'a👍b' | dump }}", "{{ '\u00a0' | trim | length }} {{ '\ufeffx' | trim | length }}",
	// Members.
	"{{ o.z }} {{ o.a.b }} {{ o.a.b[0] }} {{ o['z'] }} {{ o[\"a\"].b }}", "{{ o.nope }}", "{{ o.nope.deeper }}", "{{ missing.a.b.c }}", "{{ nil.a }}", "{{ s.a.b }}", "{{ n.a }}", "{{ l.0 }}", "{{ l[0] }} {{ l[5] }} {{ l[-1] }} {{ l['0'] }}", "{{ l[n - 1] }}", "{{ o['a']['b'][0] }}", "{{ words[0][0] }}", "{{ s[0] }} {{ s[-1] }} {{ s[100] }}", "{{ u[2] }}", "{{ people[0].name }} {{ people[0]['o'].x }}", "{{ people.name }}", "{{ o.length }}", "{{ l.length }} {{ s.length }} {{ u.length }} {{ n.length }}", "{{ l[0:2] }}", "{{ l[1:] }}", "{{ l[:1] }}", "{{ s[0:2] }}", "{{ l[::2] }}", "{{ l[::-1] }}", "{{ l[-1:] }}", "{{ l[0:-1] }}", "{{ s[1:3] }}", "{{ o.constructor }}", "{{ o.__proto__ }}", "{{ l.constructor.name }}", "{{ o.toString }}", "{{ s.constructor('x') }}", "{{ people[missing] }}", "{{ o[missing] }}", "{{ o[nil] }}", "{{ o[yes] }}", "{{ [1,2][1] }}", "{{ 'abc'[1] }}", "{{ {a: 1}.a }}", "{{ (l).length }}", "{{ vars }}", "{{ vars.s }}",
	// Methods.
	"{{ s.toUpperCase() }}", "{{ s.toLowerCase() }}", "{{ t.trim() }}", "{{ s.split(' ') }}", "{{ s.split('') }}", "{{ s.split('o').length }}", "{{ l.join('-') }}", "{{ l.join() }}", "{{ s.includes('wor') }}", "{{ l.includes(3) }}", "{{ s.startsWith('he') }} {{ s.endsWith('ld') }}", "{{ s.indexOf('o') }}", "{{ l.indexOf(1) }}", "{{ s.slice(1, 3) }}", "{{ l.slice(1) }}", "{{ s.substring(1, 3) }}", "{{ s.replace('o', '0') }}", "{{ s.replaceAll('o', '0') }}", "{{ s.charAt(0) }}", "{{ s.repeat(2) }}", "{{ s.padStart(14, '.') }}", "{{ s.padEnd(14, '.') }}", "{{ n.toFixed(2) }}", "{{ f.toFixed(0) }}", "{{ n.toString() }}", "{{ l.toString() }}", "{{ l.concat([9]) }}", "{{ l.reverse() }}", "{{ l.push(4) }}", "{{ l.sort() }}", "{{ s.concat('x') }}", "{{ s.nope() }}", "{{ missing.toString() }}", "{{ nil.toString() }}", "{{ missing() }}", "{{ s() }}", "{{ o.a() }}", "{{ s.trim().length }}", "{{ s.toUpperCase().toLowerCase() }}", "{{ s.split(' ')[1] }}", "{{ s.split(' ') | first }}", "{{ l.at(-1) }}", "{{ s.trimStart() }}", "{{ t.trimEnd() }}|", "{{ o.hasOwnProperty('z') }}", "{{ l.map() }}", "{{ s.length() }}",
	// Functions.
	"{{ range(3) }}", "{{ range(1, 4) }}", "{{ range(0, 10, 3) }}", "{{ range(5, 1, -1) }}", "{{ range(0) }}", "{{ range('3') }}", "{{ range() }}", "{{ range(2.5) }}", "{% for i in range(3) %}{{ i }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}", "{% set j = joiner(', ') %}{{ j() }}a{{ j() }}b", "{{ fetch('x') }}", "{{ process.env }}", "{{ require('fs') }}", "{{ range(3) | join(',') }}", "{{ range(3) | length }}", "{{ super() }}", "{{ caller() }}",
	// If.
	"{% if yes %}a{% endif %}", "{% if no %}a{% endif %}", "{% if no %}a{% else %}b{% endif %}", "{% if no %}a{% elif yes %}b{% else %}c{% endif %}", "{% if no %}a{% elseif yes %}b{% endif %}", "{% if no %}a{% else if yes %}b{% endif %}", "{% if el %}a{% endif %}", "{% if eo %}a{% endif %}", "{% if z %}a{% endif %}", "{% if e %}a{% endif %}", "{% if '0' %}a{% endif %}", "{% if nil %}a{% endif %}", "{% if missing %}a{% endif %}", "{% if missing.x %}a{% endif %}", "{% if not missing %}a{% endif %}", "{% if n == 3 and s %}a{% endif %}", "{% if n > 2 %}{% if n > 3 %}x{% else %}y{% endif %}{% endif %}", "{% if yes %}a", "{% if yes %}a{% else %}", "{% if yes %}a{% endfor %}", "{% endif %}", "{% else %}", "{% if yes a %}x{% endif %}", "{% if yes %}a{% else %}b{% else %}c{% endif %}", "{% if yes %}a{% endif x %}", "{% if yes %}a{% elif %}b{% endif %}", "{% IF yes %}a{% endif %}", "{% ifAsync yes %}a{% endif %}", "{% unless no %}a{% endunless %}",
	// For.
	"{% for x in l %}{{ x }}{% endfor %}", "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}", "{% for x in el %}a{% else %}b{% endfor %}", "{% for x in missing %}a{% else %}b{% endfor %}", "{% for x in nil %}a{% else %}b{% endfor %}", "{% for x in s %}{{ x }}.{% endfor %}", "{% for x in u %}{{ x }}.{% endfor %}", "{% for x in n %}a{% else %}b{% endfor %}", "{% for x in yes %}a{% else %}b{% endfor %}", "{% for x in e %}a{% else %}b{% endfor %}", "{% for k, v in o %}{{ k }}={{ v }};{% endfor %}", "{% for k in o %}{{ k }};{% endfor %}", "{% for k, v in eo %}a{% else %}b{% endfor %}", "{% for k, v in pairs %}{{ k }}={{ v }};{% endfor %}", "{% for a, b, c in [[1, 2, 3], [4]] %}{{ a }}{{ b }}{{ c }};{% endfor %}", "{% for k, v in l %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in s %}{{ k }};{% endfor %}", "{% for p in people %}{{ p.name }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for p in people %}{% for k, v in p %}{{ k }}{% endfor %};{% endfor %}", "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for x in l %}{{ x }}{% endfor %}{{ x }}", "{% for x in l %}{{ loop.nope }}{% endfor %}", "{{ loop }}", "{{ loop.index }}", "{% for x in l | sort %}{{ x }}{% endfor %}", "{% for x in [1, 2] %}{{ x }}{% endfor %}", "{% for x in 'ab' %}{{ x }}{% endfor %}", "{% for x in l if x > 1 %}{{ x }}{% endfor %}", "{% for x in l -%} {{ x }} {%- endfor %}", "{% for x in l %}\n{{ x }}\n{% endfor %}", "{% for %}{% endfor %}", "{% for x %}{% endfor %}", "{% for x of l %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for x in l %}", "{% for x, in l %}{% endfor %}", "{% for 1 in l %}{% endfor %}", "{% for x in l %}{% break %}{% endfor %}", "{% for x in l %}{% continue %}{% endfor %}", "{% for k, v in o | dictsort %}{{ k }};{% endfor %}", "{% for x in o | list %}{{ x.key }};{% endfor %}", "{% for g, ps in people | groupby('age') %}{{ g }}:{{ ps | length }};{% endfor %}", "{% for row in l | batch(2) %}{{ row | join('+') }};{% endfor %}", "{% for k, v in missing %}a{% else %}b{% endfor %}", "{% for loop in l %}{{ loop }}{% endfor %}", "{% for x in people %}{{ x.o.x }}{% endfor %}", "{% asyncEach x in l %}{{ x }}{% endeach %}", "{% asyncAll x in l %}{{ x }}{% endall %}",
	// Set.
	"{% set x = 1 %}{{ x }}", "{% set x = s %}{{ x }}", "{% set x, y = 1 %}{{ x }}{{ y }}", "{% set x = 1, y = 2 %}{{ x }}", "{% set x %}a{{ n }}{% endset %}{{ x }}", "{% set x | upper %}a{% endset %}{{ x }}", "{% set s = 'new' %}{{ s }}", "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}", "{% set x = 0 %}{% for i in l %}{% set x = x + i %}{% endfor %}{{ x }}", "{% for i in l %}{% set y = i %}{% endfor %}{{ y }}", "{% for i in l %}{% set y = i %}{{ y }}{% endfor %}", "{% set o.z = 2 %}{{ o.z }}", "{% set x = [1, 2] %}{{ x[1] }}", "{% set x = {a: 1} %}{{ x.a }}", "{% set x = s | upper %}{{ x }}", "{% set x %}{% set y %}in{% endset %}{{ y }}{% endset %}{{ x }}", "{% set x = 1 %}{% set x = x + 1 %}{{ x }}", "{% set %}", "{% set x %}", "{% set x = %}", "{% set 1 = 2 %}", "{% set x 1 %}", "{% set x == 1 %}", "{% set x = 1 %}{% for i in [1] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}", "{% for i in l %}{% set loopvar = loop.index %}{% endfor %}{{ loopvar }}", "{% set n = n + 1 %}{{ n }}", "{% set x = missing %}{{ x is defined }}", "{% set x = nil %}{{ x is none }}",
	// Switch.
	"{% switch n %}{% case 3 %}a{% case 4 %}b{% default %}c{% endswitch %}", "{% switch n %}{% case '3' %}a{% default %}c{% endswitch %}", "{% switch s %}{% case 'x' %}{% case 'hello world' %}b{% endswitch %}", "{% switch n %}{% case 3 %}{% case 4 %}b{% default %}c{% endswitch %}", "{% switch n %}{% case 9 %}a{% endswitch %}", "{% switch n %} x {% case 3 %}a{% endswitch %}", "{% switch n %}{% default %}c{% case 3 %}a{% endswitch %}", "{% switch n %}{% endswitch %}", "{% switch %}{% endswitch %}", "{% switch n %}{% case 3 %}a", "{% case 3 %}", "{% switch n %}{% case l[0] %}a{% endswitch %}", "{% switch n %}{% case 3 %}\n a \n{% endswitch %}",
	// Filter, macro, call and the rest.
	"{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') %}banana{% endfilter %}", "{% filter nope %}a{% endfilter %}", "{% filter upper %}a", "{% filter %}a{% endfilter %}", "{% filter upper | lower %}Ab{% endfilter %}", "{% filter title %}{% for x in words %}{{ x }} {% endfor %}{% endfilter %}", "{% macro m(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3) }}", "{% macro m() %}x{% endmacro %}{{ m() | upper }}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m(a) %}{{ a.name }}{% endmacro %}{% for p in people %}{{ m(p) }}{% endfor %}", "{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "{% macro m(a) %}{{ s }}{{ a }}{% endmacro %}{{ m('x') }}", "{% macro %}{% endmacro %}", "{% macro m( %}{% endmacro %}", "{% macro m() %}", "{% include 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% extends 'x' %}", "{% block b %}x{% endblock %}", "{% block b %}{{ s }}{% endblock b %}", "{% autoescape true %}{{ t }}{% endautoescape %}", "{% nope %}", "{% for x in l %}{% endif %}", "{% fro x in l %}{% endfor %}", "{% include %}", "{% do l.push(1) %}", "{% with %}{% endwith %}", "{% trans %}x{% endtrans %}", "{% call m() %}x{% endcall %}",
	// Filters with their arguments.
	"{{ s | replace('l', '') }}", "{{ s | replace('l', 'L', 1) }}", "{{ s | replace('l', 'L', 2) }}", "{{ s | replace('zz', 'L') }}", "{{ s | replace('o', '$&') }}", "{{ n | replace(3, 4) }}", "{{ 'a.b.c' | replace('.', '-') }}", "{{ s | replace }}", "{{ s | replace('l') }}", "{{ l | join(', ') }}", "{{ people | join(', ', 'name') }}", "{{ people | join(', ', 'nope') }}", "{{ people | join(attribute='name') }}", "{{ el | join(',') }}", "{{ mixed | join(',') }}", "{{ words | sort | join }}", "{{ words | sort(true) | join }}", "{{ words | sort(false, true) | join }}", "{{ words | sort(reverse=true, case_sensitive=true) | join }}", "{{ people | sort(false, false, 'name') | join(',', 'name') }}", "{{ people | sort(attribute='name') | join(',', 'name') }}", "{{ people | sort(attribute='o.x') | join(',', 'name') }}", "{{ people | sort(attribute='nope') | join(',', 'name') }}", "{{ l | sort | join }}", "{{ [10, 9, 1] | sort | join(',') }}", "{{ ['10', '9'] | sort | join(',') }}", "{{ l | reverse | join }}", "{{ s | reverse }}", "{{ u | reverse }}", "{{ l | sum }}", "{{ people | sum('age') }}", "{{ [] | sum }}", "{{ ['1', 2] | sum }}", "{{ l | sum(start=10) }}", "{{ people | sum(attribute='age') }}", "{{ l | first }} {{ l | last }}", "{{ s | first }} {{ s | last }}", "{{ el | first }}", "{{ el | last }}", "{{ l | length }} {{ s | length }} {{ o | length }} {{ n | length }} {{ missing | length }}", "{{ o | dictsort | dump }}", "{{ o | dictsort(true) | dump }}", "{{ o | dictsort(false, 'value') | dump }}", "{{ {b: 2, a: 3} | dictsort(by='value') | dump }}", "{{ {b: 2, a: 3} | dictsort(false, 'nope') | dump }}", "{{ people | groupby('age') | dump }}", "{{ people | groupby('nope') | dump }}", "{{ people | groupby('o.x') | dump }}", "{{ people | selectattr('admin') | dump }}", "{{ people | rejectattr('admin') | dump }}", "{{ people | selectattr('age', 'equalto', 30) | length }}", "{{ people | selectattr('o.x') | length }}", "{{ l | select('odd') | join }}", "{{ l | reject('odd') | join }}", "{{ l | select('gt', 1) | join }}", "{{ l | select('divisibleby', 3) | join }}", "{{ l | select('nope') }}", "{{ mixed | select | dump }}", "{{ mixed | reject | dump }}", "{{ mixed | select('string') | dump }}", "{{ [5, 6, 7] | batch(2, 'x') | dump }}", "{{ [5, 6, 7] | batch(0) | dump }}", "{{ [5, 6, 7] | slice(2) | dump }}", "{{ [5, 6, 7] | slice(2, 'x') | dump }}", "{{ [5, 6, 7, 8, 9] | slice(3) | dump }}", "{{ [5] | slice(3) | dump }}", "{{ [5] | slice(0) | dump }}", "{{ 'abc' | list | dump }}", "{{ o | list | dump }}", "{{ n | list }}", "{{ missing | list }}",
	"{{ 3.7 | round }} {{ -3.5 | round }} {{ 2.5 | round }} {{ 1.005 | round(2) }} {{ 1.25 | round(1) }}", "{{ 1234.567 | round(-2) }}", "{{ 1.21 | round(1, 'ceil') }} {{ 1.29 | round(1, 'floor') }}", "{{ 1.5 | round(0, 'nope') }}", "{{ '2.5' | round }}", "{{ 'x' | round }}", "{{ '42' | int }} {{ '42.9' | int }} {{ 'x' | int }} {{ '' | int }} {{ '0x1F' | int }} {{ 3.9 | int }} {{ -3.9 | int }}", "{{ 'x' | int(5) }} {{ 'x' | int(default=5) }}", "{{ '11' | int(0, 2) }} {{ 'ff' | int(0, 16) }}", "{{ '3.5' | float }} {{ 'x' | float }} {{ '' | float }} {{ '1e3' | float }} {{ '3.5abc' | float }}", "{{ 'x' | float(1.5) }} {{ 'x' | float(default=1.5) }}", "{{ '-5' | abs }} {{ 'x' | abs }} {{ nil | abs }}", "{{ 'hello' | capitalize }} {{ 'HELLO wORLD' | capitalize }} {{ '' | capitalize }} {{ 'éa' | capitalize }} {{ 'ßa' | capitalize }}", "{{ 'hello wORLD foo-bar' | title }} {{ 'ünal' | title }}", "{{ 'a' | center(5) }}| {{ 'ab' | center(5) }}| {{ 'abc' | center(2) }}|", "{{ 'a' | center }}|", "{{ lines | indent }}", "{{ lines | indent(2) }}", "{{ lines | indent(2, true) }}", "{{ lines | indent(width=2) }}", "{{ lines | indent(0) }}", "{{ lines | nl2br }}", "{{ lines | wordcount }} {{ 'a-b c' | wordcount }} {{ 'Grüße' | wordcount }} {{ '' | wordcount }}",
	"{{ long | truncate }}", "{{ long | truncate(20) }}", "{{ long | truncate(20, true) }}", "{{ long | truncate(20, false, '!') }}", "{{ long | truncate(20, killwords=true) }}", "{{ long | truncate(20, end='') }}", "{{ long | truncate(length=20) }}", "{{ long | truncate(3) }}", "{{ long | truncate(1000) }}", "{{ 'nospaces' | truncate(4) }}", "{{ long | truncate(0) }}", "{{ url | urlize }}", "{{ 'www.example.org' | urlize }}", "{{ url | urlize(10, true) }}", "{{ 'a b&c=d/é' | urlencode }}", "{{ {a: 1, b: 'x y'} | urlencode }}", "{{ [['a', 1], ['b', 'x y']] | urlencode }}", "{{ \"!'()*~-_.\" | urlencode }}", "{{ '<p>a</p>  b\n\n\nc' | striptags }}", "{{ '<p>a</p>  b\n\n\n\nc' | striptags(true) }}", "{{ '<!-- c -->x<br/>y' | striptags }}", "{{ 'a < b > c' | striptags }}", "{{ '<script>x</script>' | striptags }}", "{{ '&amp; <b>' | escape }}", "{{ \"'\" | e }} {{ '`' | e }} {{ '/' | e }} {{ '\\\\' | e }}", "{{ '<' | escape | escape }}", "{{ '<' | escape | forceescape }}", "{{ '<' | safe | escape }}", "{{ missing | default('x') }} {{ nil | default('x') }} {{ e | default('x') }} {{ no | default('x') }}", "{{ missing | default('x', true) }} {{ nil | default('x', true) }} {{ e | default('x', true) }} {{ no | default('x', true) }}", "{{ missing | default }}", "{{ missing.a.b | default('x') }}", "{{ missing | default(n) }}", "{{ missing | default(l) | join }}", "{{ o | dump }}", "{{ o | dump(2) }}", "{{ o | dump('\t') }}", "{{ s | dump }}", "{{ missing | dump }}", "{{ nil | dump }}", "{{ u | dump }}", "{{ t | dump }}", "{{ '</script>' | dump }}", "{{ lines | dump }}", "{{ big | dump }}", "{{ '\u2028' | dump }}", "{{ '{\"a\": [1]}' | load | dump }}", "{{ ('{\"a\": [1]}' | load).a[0] }}", "{{ 'x' | load }}", "{% set d = '[1,2]' | load %}{{ d[1] }}", "{{ s | string | length }}", "{{ n | string ~ 1 }}", "{{ l | string }}", "{{ ' x ' | trim }}|", "{{ '\n x \t' | trim }}|", "{{ '\u00a0x\u00a0' | trim }}|", "{{ 'ß' | upper }} {{ 'İ' | lower }} {{ 'ǆ' | title }}", "{{ l | random }}", "{{ s | length | string }}", "{{ l | map('x') }}", "{{ l | unique }}", "{{ l | max }}", "{{ l | min }}", "{{ people | map(attribute='name') }}", "{{ n | format }}", "{{ s | wordwrap }}", "{{ s | filesizeformat }}", "{{ s | xmlattr }}", "{{ s | pprint }}", "{{ s | items }}",
}

// Templates returns all templates.
func Templates() []string {
	all := slices.Clone(written)
	for _, name := range names {
		for _, form := range forms {
			all = append(all, "{{ "+fmt.Sprintf(strings.ReplaceAll(form, "% ", "%% "), name)+" }}")
		}
		for _, filter := range filterNames {
			all = append(all, "{{ "+name+" | "+filter+" }}", "{{ "+name+" | "+filter+" | dump }}")
		}
		for _, test := range testNames {
			all = append(all, "{{ "+name+" is "+test+" }}")
		}
		all = append(all, "{% if "+name+" %}y{% else %}n{% endif %}", "{% for x in "+name+" %}{{ x }},{% else %}none{% endfor %}", "{% for k, v in "+name+" %}{{ k }}:{{ v }},{% else %}none{% endfor %}")
	}
	for _, op := range operators {
		for _, a := range operands {
			for _, b := range operands {
				all = append(all, "{{ "+a+" "+op+" "+b+" }}")
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(text string) bool {
		known := seen[text]
		seen[text] = true
		return known
	})
}

// A Filled is what Nunjucks made of a template: a text, or an error.
type Filled struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

//go:embed answers/nunjucks.jsonl
var filled string

// RecordedTemplates returns what Nunjucks made of each template. The error says that the
// templates are other ones than Nunjucks filled in.
func RecordedTemplates(templates []string) ([]Filled, error) {
	return decoded[Filled](filled, TemplatesHead(templates), len(templates))
}

// TemplatesHead returns the first line of the texts of the templates.
func TemplatesHead(templates []string) string {
	return head("nunjucks "+NunjucksVersion, Variables+"\n"+strings.Join(templates, "\x00"))
}
