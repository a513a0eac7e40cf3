package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/template"
)

func variables(t testing.TB, text string) template.Variables {
	t.Helper()
	var vars template.Variables
	if err := json.Unmarshal([]byte(text), &vars); err != nil {
		t.Fatal(err)
	}
	return vars
}

// TestFill holds how Nunjucks fills a template. Some rules come from JavaScript, and
// other engines have others: an empty list is true, a set within a loop lasts, numbers
// are written as JavaScript does.
func TestFill(t *testing.T) {
	vars := variables(t, `{"name": "ann lee", "n": 1.50, "big": 12345678901234567890, "yes": true, "none": null, "empty": [], "list": ["b", "a", "C"],
		"people": [{"name": "Ann", "age": 30, "admin": true}, {"name": "Bo", "age": 4}], "o": {"z": 1, "a": {"b": [7]}}, "html": "<b>\"x\"</b>"}`)
	for _, tt := range []struct{ text, want string }{
		// Values.
		{"Hi {{ name }}{{nope}}{{ nope.deeper }}!", "Hi ann lee!"},
		{"{{ n }} {{ big }} {{ yes }} {{ none }} {{ 1/3 }} {{ 7 // 2 }} {{ 2 ** 3 }} {{ -7 % 4 }} {{ 1/0 }} {{ 10 / 2 }}", "1.5 12345678901234567890 true  0.3333333333333333 3 8 -3 Infinity 5"},
		{"{{ o }} {{ list }} {{ o.a.b[0] }} {{ o['a'] }} {{ list[1] }} {{ list.length }} {{ name.length }} {{ vars.name }}", `{"z":1,"a":{"b":[7]}} b,a,C 7 {"b":[7]} a 3 7 ann lee`},
		{`{{ 'a' ~ 1 }} {{ "a" + 2 }} {{ 1 + 2 }} {{ "it's \"q\"\n" }}`, "a1 a2 3 it's \"q\"\n"},
		{"{{ [1, 'x', {k: true}] }} {{ [1, ['x', none], true] }} {{ {a: 1, 'b': [2]} }}", `[1,"x",{"k":true}] 1,x,,true {"a":1,"b":[2]}`},
		// Comparisons and conditions.
		{"{{ 1 == '1' }} {{ 1 === '1' }} {{ none == nope }} {{ 'a' < 'b' }} {{ 2 >= 2 }} {{ 1 != 2 }}", "true false true true true true"},
		{"{{ 'a' in list }} {{ 'x' not in list }} {{ 'nn' in name }} {{ 'z' in o }}", "true true true true"},
		{"{{ 'y' if yes else 'n' }}{{ 'y' if none }}{{ nope or 'or' }} {{ yes and 'and' }} {{ not yes }}", "yor and false"},
		{"{% if empty %}an empty list is true{% endif %}{% if '' or 0 or none or nope %}no{% endif %}", "an empty list is true"},
		{"{% if n > 2 %}a{% elif n > 1 %}b{% else %}c{% endif %}{% if nope %}x{% elseif yes %}y{% endif %}", "by"},
		{"{{ nope is defined }} {{ name is defined }} {{ none is none }} {{ 3 is odd }} {{ 6 is divisibleby(3) }} {{ name is not string }} {{ o is mapping }}", "false true true true true false true"},
		{"{% switch name %}{% case 'x' %}1{% case 'ann lee' %}{% case 'y' %}2{% default %}3{% endswitch %}{% switch 1 %}{% case 2 %}a{% default %}b{% endswitch %}", "2b"},
		// Loops and set.
		{"{% for x in list %}{{ loop.index }}/{{ loop.length }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", "1/3b, 2/3a, 3/3C"},
		{"{% for k, v in o %}{{ k }}={{ v }};{% endfor %}{% for a, b in [[1, 2], [3]] %}{{ a }}-{{ b }} {% endfor %}", `z=1;a={"b":[7]};1-2 3- `},
		{"{% for x in nope %}x{% else %}none{% endfor %}{% for c in 'ab' %}<{{ c }}>{% endfor %}{% for i in range(1, 6, 2) %}{{ i }}{% endfor %}", "none<a><b>135"},
		{"{% set n = 0 %}{% for p in people %}{% set n = n + p.age %}{% set inner = 1 %}{% endfor %}{{ n }}{{ inner }}", "34"},
		{"{% set a, b = 'x' %}{{ a }}{{ b }}{% set text %}Hi {{ name }}{% endset %}{{ text | upper }}", "xxHI ANN LEE"},
		// Texts that are not filled in, and white space.
		{"{# a {{ comment }} #}a{% raw %}{{ x }}{% endraw %}{% verbatim %}{% if %}{% endverbatim %}", "a{{ x }}{% if %}"},
		{"a \n {{- n -}} \n b {%- if yes -%} \n c {% endif %}\nd {#- x -#} e", "a1.5bc \nde"},
		{"{ a } {\"b\": {\"c\": 1}} % } } #", "{ a } {\"b\": {\"c\": 1}} % } } #"},
		// Filters.
		{"{{ name | upper }} {{ name | capitalize }} {{ name | title }} {{ ' x ' | trim }}| {{ name | replace('n', 'm', 1) }} {{ 'ab' | reverse }}", "ANN LEE Ann lee Ann Lee x| amn lee ba"},
		{"{{ list | join(', ') }} {{ people | join('+', 'name') }} {{ list | sort | join }} {{ list | sort(true, true) | join }} {{ people | sort(attribute='age') | first | dump }}", `b, a, C Ann+Bo abC baC {"name":"Bo","age":4}`},
		{"{{ nope | default('d') }} {{ none | default('d') }}|{{ none | d('e', true) }} {{ '' | default('f', boolean=true) }}", "d |e f"},
		{"{{ list | length }} {{ o | length }} {{ nope | length }} {{ list | first }}{{ list | last }} {{ 'a b-c' | wordcount }}", "3 2 0 bC 3"},
		{"{{ html | escape }} {{ html | safe }} {{ html | striptags }} {{ 'a b&c' | urlencode }}", `&lt;b&gt;&quot;x&quot;&lt;/b&gt; <b>"x"</b> "x" a%20b%26c`},
		{"{{ 2.5 | round }} {{ 1.234 | round(2) }} {{ 1.2 | round(0, 'ceil') }} {{ '42px' | int }} {{ 'x' | int(7) }} {{ '1.5e1z' | float }} {{ -3 | abs }}", "3 1.23 2 42 7 15 3"},
		{"{{ 'one two three' | truncate(8) }} {{ 'one two' | truncate(5, true, '…') }} {{ 'a\nb' | indent(2, true) }} |{{ 'x' | center(4) }}|", "one two... one t…   a\n  b | x  |"},
		{"{{ o | dump(2) }}", "{\n  \"z\": 1,\n  \"a\": {\n    \"b\": [\n      7\n    ]\n  }\n}"},
		{"{{ [1, 2, 3, 4] | select('odd') | join }} {{ [0, 1] | reject | join }} {{ people | selectattr('admin') | length }} {{ people | rejectattr('admin') | join('', 'name') }}", "13 0 1 Bo"},
		{"{{ [1, 2] | sum }} {{ people | sum('age') }} {{ [1, 2, 3] | batch(2, 0) }} {{ [1, 2, 3] | slice(2) }} {{ people | groupby('name') | length }}", "3 34 1,2,3 1,2,3 2"},
		{"{% for k, v in o | dictsort %}{{ k }}{% endfor %} {% for p in o | list %}{{ p.key }}{% endfor %} {% filter upper %}a{{ n }}b{% endfilter %}", "az za A1.5B"},
		{"{{ name.toUpperCase() }} {{ 'a,b'.split(',')[1] }} {{ list.join('') }} {{ name.includes('ann') }} {{ name.startsWith('lee') }}", "ANN LEE b baC true false"},
	} {
		var e template.Engine
		if got, err := e.Fill(vars, tt.text); err != nil || got != tt.want {
			t.Errorf("%s:\n got %q (%v)\nwant %q", tt.text, got, err, tt.want)
		}
	}
}

// TestFillErrors holds the place, the mistake and the repair.
func TestFillErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a\nbé {{ x", `2:4 {{ x is never closed; close it with }}`},
		{"{# x", "1:1 the comment {# is never closed; close it with #}"},
		{"{{ 'x }}", `1:4 a text in a template has no closing '; close it`},
		{"{{ a b }}", `1:6 the template has "b" where the end is expected; correct the expression`},
		{"{{ }}", `1:4 the template has the end where a value is expected; correct the expression`},
		{"{{ a ? b : c }}", "1:6 the template has ? where Nunjucks has nothing like it; put texts into quotes, or write {% raw %}…{% endraw %} around text that is not a template"},
		{"x\n{% if a %}b", "2:1 {% if %} is never closed; close it with {% endif %}"},
		{"{% for a in b %}{% endif %}", "1:17 the tag {% endif %} has no beginning; close {% for %} before it"},
		{"{% fro a in b %}", "1:1 the tag {% fro %} is not known; did you mean for?"},
		{"{% raw %}x", "1:1 {% raw %} is never closed; close it with {% endraw %}"},
		{"{% include 'a.html' %}", "1:1 the tag {% include %} is not read; put the text of the other file here; a template reads no file"},
		{"{{ a | uper }}", "1:8 the filter uper is not known; did you mean upper?"},
		{"{{ a | random }}", "1:8 the filter random is not known; name one item; a case has to be the same on every run"},
		{"{{ a | shout }}", "1:8 the filter shout is not known; write the text without it, or name a file with the filter under `nunjucksFilters`"},
		{"{{ fetch('x') }}", "1:4 the function fetch is not known; write the text without it"},
		{"{{ a.constructor('x') }}", "1:6 constructor takes a value that is there; correct the argument, or give the variable a value that it takes"},
		{"{{ a() }}", "1:4 the function a is not known; write the text without it"},
		{"{{ a is evn }}", "1:9 the test evn is not known; did you mean even?"},
		{"{{ a[1:2] }}", "1:7 Nunjucks has no slice of a list or a text; use the filters first and last, the method slice, or name each item"},
		{"{{ 1 in 2 }}", "1:6 in looks into a text, a list or an object; correct the expression, or give the variable a value"},
		{"{{ 5 | join }}", "1:8 join takes a list; correct the argument, or give the variable a value that it takes"},
	} {
		var e template.Engine
		_, err := e.Fill(nil, tt.text)
		var got string
		if wrong, ok := errors.AsType[*template.Error](err); ok {
			got = fmt.Sprintf("%d:%d %s; %s", wrong.Line, wrong.Column, wrong.Message, wrong.Hint)
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", tt.text, got, err, tt.want)
		}
	}
}

// TestFillEnvironment: a template never reads the environment.
func TestFillEnvironment(t *testing.T) {
	t.Setenv("SECRET", "42")
	var e template.Engine
	for _, text := range []string{"{{ env.SECRET }}", "{{ env }}", "{{ env | dump }}", "{% for k, v in env %}{{ k }}{% endfor %}"} {
		_, err := e.Fill(nil, text)
		if _, ok := errors.AsType[template.EnvironmentError](err); !ok {
			t.Errorf("%s: error %v, want one of the environment", text, err)
		}
	}
}

// TestFillBounds holds that a template of a stranger ends soon, whatever it makes.
func TestFillBounds(t *testing.T) {
	const nested = "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}"
	for _, text := range []string{
		nested,
		"{{ range(1000000000) }}",
		"{% set x = 'a' | center(1000000) %}{% for i in range(9000) %}{{ x.length }}{% endfor %}",
		"{% set x = 'a' | center(1000000) %}{% for i in range(9000) %}{% if 'b' in x %}{% endif %}{% endfor %}",
		"{% set x = 'a' | center(1000000) %}{% for i in range(9000) %}{% set y = x | escape %}{% endfor %}",
		"{% set x = 'a' | center(1000000) %}{{ x | list | length }}", "{% set x = 'a' | center(1000000) %}{{ x.split('') | length }}", "{% set x = 'a' | center(1000000) %}{% for c in x %}{% endfor %}",
		"{% set x = 'ab' %}{% for i in range(64) %}{% set x = x ~ x %}{% endfor %}{{ x }}",
		"{% set x = [1] %}{% for i in range(64) %}{% set x = [x, x] %}{% endfor %}{{ x }}",
		"{% set x = [1] %}{% for i in range(5000) %}{% set x = [x] %}{% endfor %}{{ x }}",
		"{% set x = 'a' | center(4000000) %}{{ x | replace('', x) }}",
		"{% set x = 'a' | center(4000000) %}{{ range(9000) | join(x) }}",
		"{{ 'a' | center(1000000000) }}", "{{ 'a' | indent(100000000) }}", "{{ [1] | batch(8000000000, 1) }}", "{{ [1] | slice(8000000) }}",
		"{% for i in range(99999) %}{{ 'a long text that is written again and again' }}{% endfor %}",
		strings.Repeat("{{ ", 1) + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000) + " }}",
		"{{ " + strings.Repeat("not ", 100_000) + "1 }}",
		strings.Repeat("{% if 1 %}", 1000) + strings.Repeat("{% endif %}", 1000),
	} {
		var e template.Engine
		if got, err := e.Fill(nil, text); err == nil {
			t.Errorf("%.80s: %d bytes and no error", text, len(got))
		}
	}
	var e template.Engine
	for i := range 1000 {
		if _, err := e.Fill(nil, nested); err == nil {
			t.Fatal("no error")
		} else if strings.Contains(err.Error(), "together") {
			return
		} else if i == 999 {
			t.Error("1,000 long templates of one definition are all filled in")
		}
	}
}

// FuzzFill: any text is filled in or has an error with a place.
func FuzzFill(f *testing.F) {
	for _, seed := range []string{"{{ a }}", "{% for x in a %}{{ x | upper }}{% else %}b{% endfor %}", "{% set a %}x{% endset %}", "{%- raw -%}{{{% endraw %}", "{{ {a: [1,2]}[b] is not odd }}", "{# #}{{ 'a' ~ -1 ** 2 }}"} {
		f.Add(seed)
	}
	vars := variables(f, `{"a": ["x", {"y": null}], "b": 2}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e template.Engine
		_, err := e.Fill(vars, text)
		wrong, isWrong := errors.AsType[*template.Error](err)
		if _, isEnv := errors.AsType[template.EnvironmentError](err); err != nil && !isEnv && (!isWrong || wrong.Line < 1 || wrong.Column < 1 || wrong.Hint == "") {
			t.Errorf("filling in %q: error %v, want one with a place and a hint", text, err)
		}
	})
}

// BenchmarkFill fills in a prompt with a loop, as for each row of a matrix.
func BenchmarkFill(b *testing.B) {
	vars := variables(b, `{"name": "Ann", "list": ["a", "b", "c"]}`)
	var e template.Engine
	for i := 0; b.Loop(); i++ {
		if i%100_000 == 0 {
			e = template.Engine{}
		}
		if _, err := e.Fill(vars, "Hi {{ name }}: {% for x in list %}{{ x | upper }} {% endfor %}"); err != nil {
			b.Fatal(err)
		}
	}
}
