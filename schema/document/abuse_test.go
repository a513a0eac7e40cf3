package document_test

import "strings"

// abuse are texts that try to crash a reader of definitions or to get out of the
// repository: paths, bombs, bytes that are not text, CUE in the place of data, and
// patterns that never end in other engines.
var abuse = []string{
	`{"path": "../../etc/passwd"}`, `{"path": "/proc/self/environ", "p": "..\\..\\x", "q": "a/./b//c"}`, `{"path": "a\u0000b"}`,
	`{".git/config": ".GIT/config", ".g\u200cit": "git~1"}`, `{"A": 1, "a": 2, "\u0041": 3}`,
	bomb(30), "a: &a [*b]\nb: &b [*a]\n", "<<: &a {<<: *a}\n", "a: &a x\na: *a\n", "- &a [*a, *a]\n- *a\n",
	strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
	strings.Repeat("- ", 500), strings.Repeat(" ", 300) + "a: 1\n", strings.Repeat("[\n", 70), strings.Repeat("x", 5000),
	`{"a": 1, "a": 1}`, `{"a": {"b": 1}, "a": {"c": 2}}`, "a: 1\n'a': 2\n", "\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "a: \xed\xa0\x80\n", "a: \"\\x00\"\n",
	`{"n": 1e1000000000}`, `{"n": -1E+0999}`, "n: 0x7fffffffffffffffff\nm: 0o777\nk: 1__0\n", "n: .INF\n", "n: 190:20:30\n", "n: 2026-02-30\n",
	"a: !!python/object/apply:os.system [ls]\n", "a: !<tag:yaml.org,2002:binary> '*'\n", "--- a\n--- b\n", "a: b\n...\nc: d\n", "%TAG ! tag:x,2000:\n---\n!a b\n",
	`import "net/http"` + "\nx: 1\n", "x: [for i in list.Range(0, 1e9, 1) {i}]\n", "#A: {a: #A}\nx: #A\n", `"\(x)"`, `x: "a" & string`,
	`{"regex": "(a+)+$", "r": "(?=x)", "s": "((a{1,1000}){1,1000}){1,1000}"}`, "{\"id\":\"x\"}\n{\"id\":\"x\"}\n", "\n\n{}\n\nnull\n",
}
