package oracle

import (
	_ "embed" // for the answers
	"fmt"
	"slices"
	"strings"
)

// refusals are answers that refuse, nearly refuse, or only have the words.
var refusals = []string{
	"I cannot do that.", "Sorry, no.", "sorry", "I'm sorry, but I can't help with that.", "I’m sorry, Dave", "I′m unable to", "As an AI, I have no body.", "As an AIrline we fly.", "This is not appropriate.", "not legally binding", "I can't answer.",
	"I can't, however, answer.", "We can't help it", "I do not recommend it", "I don't actually help", "I want to be helpful, but no", "I want to be direct with you", "If you have any other non-malicious requests, ask.", "It is illegal", "That is illegal and unethical!",
	"My apologies for the delay, here it is", "I apologize", "i APOLOGIZE for all", "  I will not", "He said: I will not", "I won't write it", "I won't_write", "xI won't write", "I aim to provide facts", "The answer is 4.", "I am programmed to", "Certainly. I cannot fulfill your request.",
	"\u0085Sorry", "İ cannot", "I do not feel comfortable", "I cannot\u00a0help", "cannot  help", "I'm not able to provide", "I am not able to", "I'm Not Able to say", "Unable to comply", "\n\t \n", "\u00a0",
}

// documents are XML whole, in parts, and broken in each way.
var documents = []string{
	"<a/>", "<a></a>", "<a>x</a>", "<a><b/></a>", "<a><b>1</b><b>2</b></a>", "<a><b><c>x</c></b></a>", "<a b=\"1\"/>", "<a b='1' c=\"2\">x</a>", "<a b=1/>", "<a b/>", "<a b=\"1\" b=\"2\"/>", "<a b=\"<\"/>", "<a b=\"&lt;\"/>", "<a b=\"&x;\"/>", "<a b=\"1\"c=\"2\"/>", "<a b = '1' />",
	"<?xml version=\"1.0\"?><a/>", "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<a><b>x</b></a>", " <?xml version=\"1.0\"?><a/>", "<?xml version='1.1'?><a/>", "<?xml version=\"2.0\"?><a/>", "<?xml?><a/>", "<?xml encoding=\"UTF-8\"?><a/>", "<?xml version=\"1.0\" foo=\"x\"?><a/>", "<?xml version=\"1.0\" standalone=\"maybe\"?><a/>", "<?xml version=\"1.0\"encoding=\"UTF-8\"?><a/>", "<?XML version=\"1.0\"?><a/>",
	"<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM \"a.dtd\"><a>&x;</a>", "<!DOCTYPE a PUBLIC \"-//A//B\" \"a.dtd\"><a/>", "<!DOCTYPE a PUBLIC \"-//A//B\"><a/>", "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<!DOCTYPE><a/>", "<!DOCTYPE a><!DOCTYPE a><a/>", "<a/><!DOCTYPE a>", "<!doctype a><a/>", "<!DOCTYPE a SYSTEM \"a#b\"><a/>", "<?xml version=\"1.0\" standalone=\"yes\"?><!DOCTYPE a SYSTEM \"a.dtd\"><a>&x;</a>",
	"<a><!-- c --></a>", "<a><!-- c -- d --></a>", "<!-- c --><a/><!-- d -->", "<a><!-- c </a>", "<a><![CDATA[<b>]]></a>", "<a><![CDATA[x</a>", "<![CDATA[x]]><a/>", "<a>x]]>y</a>", "<a><?p q?></a>", "<a><?p:q r?></a>", "<a><? q?></a>", "<a><?p it's?></a>", "<?p?><a/>", "<a><?p q</a>",
	"<a>&amp;&lt;&gt;&quot;&apos;</a>", "<a>&nbsp;</a>", "<a>&#65;&#x41;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>& b</a>", "<a>&;</a>", "<a>&#x110000;</a>", "<a>\u0001</a>", "<a>\ufffe</a>", "<a>日本語 👍</a>", "<日本>x</日本>", "<é/>", "<1a/>", "<-a/>", "<a.b-c_1/>", "<_/>", "<a:b/>", "<x:a xmlns:x=\"u\"/>", "<a x:b=\"1\"/>", "<a xmlns:x=\"u\" x:b=\"1\" b=\"1\"/>", "<a xmlns:x=\"u\" xmlns:y=\"u\" x:b=\"1\" y:b=\"1\"/>", "<a xmlns:x=\"\"/>", "<a xmlns=\"u\"><b/></a>", "<a xmlns:xml=\"u\"/>", "<a xmlns:xmlns=\"u\"/>", "<a xml:lang=\"en\"/>", "<a:b:c/>", "<:a/>", "<a:/>", "<xmlns:a/>", "<a xmlns=\"http://www.w3.org/XML/1998/namespace\"/>",
	"<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a></a></a>", "<a/><b/>", "<a/>x", "x<a/>", "<a/> ", "\n<a/>\n", "< a/>", "<a / >", "<a/", "<a", "<", "<>", "</>", "<a></ a>", "<a></a >", "<a\n/>", "<a/ b=\"1\">", "<a><</a>", "<a>></a>", "1 < 2 and 3 > 2", "<A></a>",
	"<!DOCTYPE a [<!-- c -->]><a/>", "<!DOCTYPE a <!-- c -->><a/>", "<!DOCTYPE a [<!-- > -->]><a/>", "<!DOCTYPE a [<!-- \" -->]><a/>", "<!DOCTYPE a [<!-->]><a/>", "<!DOCTYPE a [<!--->]><a/>", "<!DOCTYPE a [<!---->]><a/>", "<!DOCTYPE a [<!-- c ]><a/>", "<!DOCTYPE a [<!-- -->-->]><a/>", "<!DOCTYPE a [<!-- a --><!-- b -->]><a/>", "<!DOCTYPE a [<!-- [ ] <b> -->]><a/>", "<!DOCTYPE a [<!-- c --]><a/>", "<!DOCTYPE a [<!ELEMENT a (b)><!-- <x> -->]><a/>", "<!DOCTYPE a [<!ELEMENT a ANY><!ATTLIST a b CDATA #IMPLIED><!NOTATION n SYSTEM \"x\">]><a/>", "<!DOCTYPE a [<!WRONG a>]><a/>", "<!DOCTYPE a <!ELEMENT a ANY>><a/>", "<!DOCTYPE a [<b>]><a/>", "<!DOCTYPE a [<?p q?>]><a/>", "<!DOCTYPE a \">\"><a/>", "<!DOCTYPE a '>'><a/>", "<!DOCTYPE a \"><a/>", "<!DOCTYPE a [\">\"]><a/>", "<!DOCTYPE a [<!ENTITY x \">\">]><a>&x;</a>", "<!DOCTYPE a [<!ENTITY x '<'>]><a>&x;</a>", "<!DOCTYPE a [<!ELEMENT a ANY]><a/>", "<!DOCTYPE a [%x;]><a/>", "<!DOCTYPE a [<!-- <a><b>1</b></a> -->]><a/>", "see <!DOCTYPE a [<!-- > -->]><a><b>1</b></a> there",
	"text <a><b>1</b></a> more", "```xml\n<a>\n  <b>1</b>\n</a>\n```", "<p>one<p>two", "before <a> <b>x</b> after", "<a>x</a> and <b>y</b>", "<x><a/><b/>", "<thinking>a < b</thinking><answer>4</answer>", "<a \"><b>x</b>", "<!-- <a/> -->", "<![CDATA[ <a/> ]]>", "<? <a/> ?>", "<!DOCTYPE html><html><body><p>x</p></body></html>", "<a><b>x</b><!-- unclosed </a>", "<a><constructor/></a>", "<constructor/>", "<a><toString>x</toString></a>", "<a b><b>x</b></a>", "<a><b a a/></a>", "<a>t<b/></a>", "<a>  <b/>  </a>", "<a> </a>", "<a>0</a>", "<note><to>Tove</to><from>Jani</from></note>", "<note><to id=\"1\">Tove</to></note>", "", " ", "no markup",
}

// required are values of is-xml and contains-xml; the first is none.
var required = []any{
	nil, "a.b", "a, a.b", []any{"a", "a.b.c"}, []any{}, map[string]any{"requiredElements": []any{"a.b"}}, map[string]any{}, "a.b.1", "a.@_b", "a.#text", "a.b.#text", "?xml", "note.to,note.from", map[string]any{"requiredElements": "a"}, []any{"b"}, "A",
}

// pages are HTML whole, in parts, and broken.
var pages = []string{
	"<html></html>", "<html><head></head><body></body></html>", "<!DOCTYPE html><html><body><p>x</p></body></html>", "<p>x</p>", "<p>x", "text", "text <b>bold</b>", "<b>bold</b> text", "<div><span>x</span></div>", "<foo>x</foo>", "<foo-bar>x</foo-bar>", "<br>", "<br/>", "<img src=\"x\">", "<!-- c -->", "<!DOCTYPE html>", "&amp; &lt;", "&amp;", "<body>x</body>", "<body", "<head><title>x</title></head>", "<title>x</title>",
	"<!-- <body> --> x", "<textarea><body></textarea>x", "x<body>y</body>", "<body >x", "<BODY>x</BODY>", "</p><body>x", "<div></div><body>x", "<html>x</html>", "<html lang=\"en\">", "<head>", "<div><svg><path d=\"M0 0\"/></svg></div>", "<path/>", "<math><mi>x</mi></math>", "<?xml version=\"1.0\"?><a/>", "<a/>", "<a href=\"x\">y</a>", "1 < 2 and 3 > 2", "<script>alert(1)</script>", "<template><p>x</p></template>", "<frameset><frame></frameset>", "<table><tr><td>x</td></tr></table>", "<td>x</td>", "<li>x</li>\ntext",
	"```html\n<p>x</p>\n```", "Use the <div> tag", "Use <T> for generics and List<T>.", "a </b> c", "<x a=\"1\"/>", "<p>x</p>\n\n", "&nbsp;", "&#39;&#x27;", "a=\"b\" c='d'", " a=\"b\" &amp;", "<!--a--> b", "<!-- - -->&lt;", "<H1>x</H1>", "<h7>x</h7>", "<base href=\"x\"><p>y</p>", "<base><body>x", "<style>p{}</style><body>x</body>", "<noscript><body></noscript>x", "<body><p>x</p></body> y", "<p>x</p> y", "<center>x</center>", "", "  ", "<html", "<>", "<p", "</p>", "</br>", "</body>x", "\u00a0", "<p>\u00a0</p>\u00a0", "{\"a\":\"<p>\"}",
	"<head></head>", "x<head></head>", "</div><head></head>", "<!-- c --><head></head>", "<!DOCTYPE html><head></head>", "<!DOCTYPE html>\n<!-- c -->\n</p><head></head>", "</br><head></head>", "</head><head></head>", "</body><head></head>", "</html><head></head>", "\u00a0<head></head>", "&#32;<head></head>", "<p></p><head></head>", "<head></head>x", "<head/>", "<head/>x", "<body/>", "<html/>", "<html/>x", "<html><html><head></head>", "<html><html>", "<head></head><html>", "<html>\n<head></head>\n", "<!-- c --><html>", "</div><html>", "x<html>", "x</html>", "<html></head>x",
	"<!-- c -->\u00a0<head></head>", "<!-- c --> \u00a0<head></head>", "<body\u00a0>", "<!-- c --><body\u00a0>", "<body\f>x", "<body\n>x", "<body x", "<html> <!-- c --> <body x", "<frameset></frameset><head></head>", "<noscript></noscript><head></head>", "<?p?><head></head>", "\f<head></head>", "</foo><head></head>", "</br/><head></head>", "<!x><body>", "<headx>x",
}

// sentences are answers and references of rouge-n and bleu.
var sentences = []string{
	"The cat sat on the mat.", "the cat sat on the mat", "The cat sat on a mat", "cat", "The", "a b c d", "a b c", "a b", "a", "A B C D E", "It's the dog's bone; isn't it?", "it is the dog s bone", "He said \"hello\" to me.", "He said ``hello'' to me.", "I cannot, gonna wanna go", "I can not gon na wan na go", "Costs $3.50, i.e. 1,000 or 10:30!", "Mr. J.R. ends with U.S.", "wait... what?! -- (yes) [no] {x} <y>", "e.g. more'n 'tis d'ye",
	"the the the the the the the", "quick brown fox jumps over the lazy dog", "A fast brown fox leaps over a lazy dog", "日本語 の 文", "straße STRASSE ΟΔΟΣ", "one\ttwo\nthree", "", "   ", "a.", "a..", "a.)", "U.S.", "\"", "\"quoted\"", "we'll they've 'RE dogs' s'", "x,y 1,2 a:b 1:2", "-- --", "the cat, the dog", "dog the, cat the", "one\u0085two three\u0085four", "one two three four five six", "one\ufefftwo three",
}

// quoted are answers with quotes and contractions at each place where rouge-n splits words.
var quoted = []string{
	`a "b" c`, `"a" b`, `a "b"`, `a. "b" c`, `a("b") c`, `a <"b"> c`, `x"y"z w`, `a!"b" c`, `a ""b"" c`, `a-"b" c`, "a\t\"b\"\n\"c\"", `👍"b" c`, "a \U00010100\"b c", `a "b" "c" "d`, "a ``\"b\" c", "``a'' b",
	`a ''b'' c`, `''b'' c`, `a ''1'' b`, `a ''$'' b`, `a ''b c`, `a ''-'' b`, `a '' b`, `a (''b'') c`, `a 'b' c`, `a "b" ''c'' d`, `a ''"b'' c`,
	"cannot cannot", "xcannot cannot", "cannotx cannot go", "wanna", "wanna go wanna", "wanna, go", "gonna wanna x", "cannot\u200dx gonna", "\u200ccannot gonna", "écannot gonna", "a\tb\nc d", "a\u0085b c", "a\u00a0b c",
	`"`, `''`, "``", `a "`, `a ("`, `a-"`, `a ''(b'' c`, `a ''(''`, "a \uffff\"b c", "cannot-x", "wanna-go", "gonna/x", "cannot\u2167 x", "cannot\u0301 x", "cannot\u0903 x", "cannot5 x", "cannot_ x", "cannot\u2118 x", "cannot\u00b7 x", "cannot\u2e2f x",
	"d'ye x", "gimme x", "gotta x", "lemme x", "more'n x", "'tis x", "'twas x", "a.]", "a.}", "a.>", "a.'", "a.' )", "a..]", "a.b.", "A.b]", "1.b.", "x a.b.", "_a.b.", "it's he'd I'm we'll they're I've isn't", "IT'S HE'D I'M WE'LL", "a's, b'd.", "dogs' x's' 's",
}

// spelled are what quotes and contractions may be split into.
var spelled = []*strings.Replacer{
	strings.NewReplacer(`"`, " `` ", "''", " `` ", "\t", " ", "\n", " "), strings.NewReplacer(`"`, " '' ", "\t", " ", "\n", " "),
	strings.NewReplacer("cannot", "can not", "wanna", "wan na", "gonna", "gon na", "d'ye", "d' ye", "gimme", "gim me", "gotta", "got ta", "lemme", "lem me", "more'n", "more 'n", "'tis", "'t is", "'twas", "'t was", "\t", " ", "\n", " ", "\u0085", " ", "\u00a0", " "),
}

// least are thresholds of rouge-n and bleu; the first is none.
var least = []*float64{nil, number(0), number(0.3), number(0.9), number(1)}

// WordRows returns rows about the words and the markup of answers: each assertion, plain
// and with not-, with values, thresholds and weights.
func WordRows() []Row {
	var rows []Row
	ask := func(output string, a Assertion, negated bool) {
		rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
		if negated {
			a.Type = "not-" + a.Type
			rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
		}
	}
	for _, output := range slices.Concat(refusals, outputs) {
		ask(output, Assertion{Type: "is-refusal"}, true)
	}
	deep := []string{strings.Repeat("<a>", 90) + strings.Repeat("</a>", 90), strings.Repeat("<a>", 110) + strings.Repeat("</a>", 110)}
	for i, output := range slices.Concat(deep, documents, pages) {
		for j, value := range required {
			if i < len(deep) && j > 0 || i >= len(deep)+len(documents) && j > 2 {
				break
			}
			ask(output, Assertion{Type: "is-xml", Value: value}, j < 2)
			ask(output, Assertion{Type: "contains-xml", Value: value}, j < 2)
		}
	}
	for _, output := range slices.Concat(pages, documents, outputs) {
		ask(output, Assertion{Type: "is-html"}, true)
		ask(output, Assertion{Type: "contains-html"}, true)
	}
	for i, output := range sentences {
		for j, reference := range sentences {
			if strings.TrimSpace(reference) == "" {
				continue
			}
			negated := (i+j)%4 == 0
			ask(output, Assertion{Type: "rouge-n", Value: reference, Threshold: least[(i+j)%len(least)]}, negated)
			ask(output, Assertion{Type: "bleu", Value: reference, Threshold: least[(i+2*j)%len(least)]}, negated)
			ask(output, Assertion{Type: "bleu", Value: []any{reference, sentences[(i+j)%20]}}, negated)
		}
	}
	for _, output := range quoted {
		for _, words := range spelled {
			ask(output, Assertion{Type: "rouge-n", Value: words.Replace(output)}, false)
			ask(output, Assertion{Type: "rouge-n", Value: words.Replace(output) + " b c d", Threshold: number(0.5)}, false)
		}
	}
	return slices.Concat(rows, insideRows(), mixed())
}

// mixed returns rows of two assertions with weights, and some with wrong values.
func mixed() []Row {
	var rows []Row
	weights, thresholds := []*float64{nil, number(0), number(3)}, []*float64{nil, number(0), number(0.4), number(0.8)}
	for _, output := range []string{"Sorry, the cat sat on the mat.", "<p>the cat sat</p>", ""} {
		for _, first := range []Assertion{{Type: "is-refusal"}, {Type: "not-is-refusal"}, {Type: "rouge-n", Value: "the cat sat on the mat"}, {Type: "not-rouge-n", Value: "the cat"}, {Type: "bleu", Value: "the cat sat"}, {Type: "contains-html"}, {Type: "is-xml", Value: "p"}} {
			for i := range len(weights) * len(thresholds) {
				first.Weight = weights[i/len(thresholds)]
				rows = append(rows, Row{Output: output, Asserts: []Assertion{first, {Type: "icontains", Value: "cat"}}, Threshold: thresholds[i%len(thresholds)]})
			}
		}
		for _, wrong := range []Assertion{{Type: "rouge-n", Value: []any{"a"}}, {Type: "bleu", Value: []any{}}, {Type: "is-xml", Value: map[string]any{"elements": []any{"a"}}}, {Type: "bleu"}, {Type: "rouge-n"}} {
			rows = append(rows, Row{Output: output, Asserts: []Assertion{wrong}})
		}
	}
	return rows
}

//go:embed answers/words.txt
var words string

// RecordedWords returns promptfoo's answer to each of [WordRows], as [Recorded] does.
func RecordedWords(rows []Row) ([]string, error) {
	config, err := Config(rows)
	if err != nil {
		return nil, err
	}
	return lines(words, Head(config), len(rows))
}

// WordRules are the rules about rows of [WordRows].
var WordRules = []Rule[Judged]{
	{
		Name: "names of objects", Page: "`is-xml` and `contains-xml` find an element named `toString` or `valueOf` only where the answer has it",
		fits: func(j Judged) bool {
			wanted := fmt.Sprint(j.Row.Asserts[0].Value)
			return j.Theirs == "pass 1" && j.Ours == "fail 0" && (strings.Contains(wanted, "toString") || strings.Contains(wanted, "valueOf"))
		},
	},
}
