package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inside are what an element has in it: declarations of a document's type, comments,
// instructions, sections and elements, whole and broken in each way.
var inside = slices.Concat([]string{
	"<!DOCTYPE a [<!-- > -->]>", "<!DOCTYPE a [<!-- c -->]>", "<!DOCTYPE a>", "<!DOCTYPE a \">\">", "<!DOCTYPE a '>'>", "<!DOCTYPE a [\">\"]>", "<!DOCTYPE a ['>']>", "<!DOCTYPE a [<!ENTITY x \"y\">]>",
	"<!DOCTYPE a [<!ENTITY x \">\">]>", "<!DOCTYPE a [<!ENTITY x \"<\">]>", "<!DOCTYPE a [<!ELEMENT a ANY>]>", "<!DOCTYPE a [<!ATTLIST a b CDATA #IMPLIED>]>", "<!DOCTYPE a [<!NOTATION n SYSTEM \"x\">]>", "<!DOCTYPE a [<!WRONG a>]>",
	"<!DOCTYPE a <!ELEMENT a ANY>>", "<!DOCTYPE a [<b>]>", "<!DOCTYPE a [<?p q?>]>", "<!DOCTYPE a [<!-->]>", "<!DOCTYPE a [<!--->]>", "<!DOCTYPE a [<!---->]>", "<!DOCTYPE a [<!-- c ]>", "<!DOCTYPE a [<!-- \" -->]>",
	"<!DOCTYPE a <!-- > -->>", "<!DOCTYPE a><!DOCTYPE a>", "<!doctype a>", "<!DOCTYP a>", "<!D>", "<!DOCTYPE>", "<!DOCTYPEa>", "<!DOCTYPE a []>", "<!DOCTYPE a [>", "<!DOCTYPE a [<!ENTITY % p \"q\">]>", "<!DOCTYPE a [%p;]>",
	"<!DOCTYPE a \">", "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z 'w'>]>", "<!DOCTYPE a [<!ENTITY x SYSTEM \"u\">]>", "<!DOCTYPE a [<!ENTITY>]>", "<!DOCTYPE a [<!ELEMENT>]>", "<!DOCTYPE a [<!ELEMENTS a>]>",
	"<!DOCTYPE a [<!-- <a> -->]>", "<!DOCTYPE a [<!ELEMENT a (b)><!-- > -->]>", "<!DOCTYPE a [<!-- a --> <!-- > -->]>", "<!DOCTYPE a [ <!ENTITY x \"a>b\"> ]>", "<!DOCTYPE a [<!ELEMENT a 'x>y'>]>",
	"<!DOCTYPE a [<!ENTITY x \"y]>\">]>", "<!DOCTYPE a PUBLIC \"-//A\" \"b\">", "<!DOCTYPE a SYSTEM 'a\"b'>", "<!-- > -->", "<!-- <b> -->", "<!-->", "<!--->", "<!---->", "<!-- c --x-->", "<!-- c --", "<!-", "<!>", "<!x>",
	"<![CDATA[x]]>", "<![CDATA[]]>", "<![CDATA[ ]]>", "<![CDATA[<b>2</b>]]>", "<![x]]>", "<![CDATAx]]>", "<![CDATA[]]", "<![]]>", "<![CDATA[x]]]]>", "<?p?>", "<?p x=\"1\"?>", "<?p x=\"?>\"?>", "<?p x='1' y?>", "<?p \"?>", "<?p ?",
	"<? p?>", "<?xml version=\"1.0\"?>", "<?p x=\">\"?>", "<?p\tx=\"1\"?>", "x", "x<!-- c -->y", " ", "\u00a0", "\u0085", "\r\n", "\r", "]]>", "&nbsp;", "&", "<c/>", "<c>", "</c>", "<c></d>", "< c/>", "<c / >", "<c/ >",
	"<c x=\"1\"/>", "<c x='1'>2</c>", "<c x=1/>", "<c x/>", "<c x= \"1\" y/>", "<c x =\"1\"/>", "<c x=\"/>\"/>", "<c x=\"a>b\"/>", "<c x='a>b'>1</c>", "<c x=\"'\" y='\"'/>", "<c \"x\"/>", "<c 'x>y'/>", "<c \"/>",
	"<c x=\"1\"y=\"2\"/>", "<c\nx=\"1\"/>", "<c\u00a0x=\"1\"/>", "<c x/></c>", "<c x=\"1\"></c>", "<c/></c>", "<c//>", "<c x//>", "<c x=\"1\" />", "<c x=\"1\"/ >", "<toString>1</toString>", "<valueOf/>", "<hasOwnProperty x=\"1\"/>",
	"<__defineGetter__/>", "<__lookupSetter__/>", "<__proto__/>", "<prototype>1</prototype>", "<constructor/>", "<Constructor/>", "<c constructor=\"1\"/>", "<c toString=\"1\"/>", "<c __proto__=\"1\"/>", "<?constructor?>",
	"<?toString?>", "<b>2</b>", "<b x=\"1\">2</b>", "<b/>", "<b><b>2</b></b>", "<b>2</b><b>3</b>", "<b></b><b/>", "</b>", "</>", "</ b>", "</b x>", "<></>", "<>", "<c:d/>", "<c.d/>", "<c-d>1</c-d>", "<1/>", "<c/>x<c/>", "x<c>y</c>z",
	"<c>  </c>", "<c> x </c>", "<c><d/></c>", "<c><d>1</d><d>2</d></c>", "<c>1<d/></c>", "<c x=\"1\"><d/></c>", "<c \u2028x=\"1\"/>", "<c x=\"1\"\u3000y=\"2\"/>", "<c\ufeffx=\"1\"/>", "<c\u0085x=\"1\"/>", "<c =\"1\"/>", "<c = x/>",
	"<c x==\"1\"/>", "<!DOCTYPE a [<!ENTITY x\"y\">]>", "<!DOCTYPE a [<!ENTITY x  \"y\" >]>", "<!DOCTYPE a [<!ENTITY x 'y\"z'>]>", "<!DOCTYPE a [<!ENTITY x y>]>", "<!DOCTYPE a [<!ENTITY x \"y>]>", "<!DOCTYPE a [<!ENTITY 1x \"y\">]>",
	"<!DOCTYPE a [<!ENTITY a:b \"y\">]>", "<!DOCTYPE a [<!ENTITY a:b:c \"y\">]>", "<!DOCTYPE a [<!ENTITY :b \"y\">]>", "<!DOCTYPE a [<!ENTITY a: \"y\">]>", "<!DOCTYPE a [<!ENTITY a.b-c_1 \"y\">]>", "<!DOCTYPE a [<!ENTITY 日 \"y\">]>",
	"<!DOCTYPE a [<!ENTITY 👍 \"y\">]>", "<!DOCTYPE a [<!ENTITY x\u0487 \"y\">]>", "<!DOCTYPE a [<!ENTITY x\u00b7 \"y\">]>", "<!DOCTYPE a [<!ENTITY x \"&y;\">]>", "<!DOCTYPE a [<!ENTITY x \"\">]>",
	"<!DOCTYPE a [<!ENTITY\u00a0x\u00a0\"y\">]>", "<!DOCTYPE a [<!ENTITYx \"y\">]>", "<!DOCTYPE a [<!ENTITY \"y\">]>", "<!DOCTYPE a [<!ENTITY x PUBLIC \"a\" \"b\">]>", "<!DOCTYPE a [<!ENTITY x \"y\" NDATA z>]>",
	"<!DOCTYPE a [<!ENTITY x \"y\"]>", "<!DOCTYPE a [<!ENTITY]>", "<!DOCTYPE a [<!ELEMENT a EMPTY>]>", "<!DOCTYPE a [<!ELEMENT a ANYX>]>", "<!DOCTYPE a [<!ELEMENT a EMPTYX>]>", "<!DOCTYPE a [<!ELEMENT a (#PCDATA)>]>",
	"<!DOCTYPE a [<!ELEMENT a (b,(c|d)*)>]>", "<!DOCTYPE a [<!ELEMENT a (b>]>", "<!DOCTYPE a [<!ELEMENT a b>]>", "<!DOCTYPE a [<!ELEMENT a>]>", "<!DOCTYPE a [<!ELEMENT 1 ANY>]>", "<!DOCTYPE a [<!ELEMENT a:b ANY>]>",
	"<!DOCTYPE a [<!ELEMENT  a  ANY >]>", "<!DOCTYPE a [<!ELEMENT a (b>c)>]>", "<!DOCTYPE a [<!ELEMENTa ANY>]>", "<!DOCTYPE a [<!ELEMENT a(b)>]>", "<!DOCTYPE a [<!ELEMENT a (b)+>]>", "<!DOCTYPE a [<!ELEMENT a]>",
	"<!DOCTYPE a [<!ELEMENT a (b)]>", "<!DOCTYPE a [<!ELEMENT a empty>]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x\">]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x\" \"y\">]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x\"  'y' >]>",
	"<!DOCTYPE a [<!NOTATION n PUBLIC>]>", "<!DOCTYPE a [<!NOTATION n SYSTEM>]>", "<!DOCTYPE a [<!NOTATION n SYSTEM \"\">]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"\">]>", "<!DOCTYPE a [<!NOTATION n system \"x\">]>",
	"<!DOCTYPE a [<!NOTATION n SYSTEM\"x\">]>", "<!DOCTYPE a [<!NOTATION n OTHERS \"x\">]>", "<!DOCTYPE a [<!NOTATION 1 SYSTEM \"x\">]>", "<!DOCTYPE a [<!NOTATION n SYSTEM \"x>y\">]>",
	"<!DOCTYPE a [<!NOTATION n PUBLIC \"x\" \"y>z\">]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x\" \"y>]>", "<!DOCTYPE a [<!NOTATION n SYSTEM \"x\" \"y\">]>", "<!DOCTYPE a [<!NOTATION n SYSTEM \"x\" \"y>z\">]>",
	"<!DOCTYPE a [<!NOTATION n PUBLIC \"x\" y>]>", "<!DOCTYPE a [<!NOTATION n]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x\"]>", "<!DOCTYPE a [<!NOTATION  n  SYSTEM  \"x\" >]>", "<!DOCTYPE a [<!NOTATION n PUBLIC \"x>y\">]>",
	"<!DOCTYPE a [<!ATTLIST>]>", "<!DOCTYPE a [<!ATTLIST a b CDATA \">\">]>", "<!DOCTYPE a [<!ATTLIST a \"<b\">]>", "<!DOCTYPE a [<!ATTLIST]>", "<!DOCTYPE a [<!ATTLISTS a>]>", "<!DOCTYPE a [<!ENTITIES a>]>",
	"<!DOCTYPE a [<!-- [ -->]>", "<!DOCTYPE a [<!-- > --> <!ENTITY x \"y\"> <!-- > -->]>", "<!DOCTYPE a [']>", "<!DOCTYPE a [>]>", "<!DOCTYPE a [<!]>", "<!DOCTYPE a [[]>", "<!DOCTYPE a []]>", "<!DOCTYPE a [<!-- c --]>",
	"<!DOCTYPE a [<!ENTITY x \"y\"><]>", "<!DOCTYPE a [<!ENTITY x \"y\">]><a/>]>", "<!DOCTYPE a [&x;]>", "<!DOCTYPE a [text]>", "<!DOCTYPE a <!-- [ --> <!ENTITY x \"y\">>", "<!DOCTYPE a <!-- [ --> \">\">", "<!DOCTYPE a <!-- \" -->>",
	"<!DOCTYPE a <!ENTITY x \"y\">>", "<!DOCTYPE a <!--[-->'>", "<!DOCTYPE a <!-- -->'[' >", "<!DOCTYPE a \">\" [<!ENTITY x \"y\">]>", "<!DOCTYPE a '\">' [<!ENTITY x 'y'>]>", "<!DOCTYPE a <b>>", "<!DOCTYPE a [<!-- > -->",
	"<!DOCTYPE", "<!DOCTYPE a [<!--", "<![CDATA[x]]><![x]]>", "<![CDAT[]]>", "<![CDATA]]>", "<![CDATA[\u00a0]]>", "<c>&#32;</c>", "<c>&#160;</c>", "<c>\u00a0</c>", "<c><![CDATA[]]></c>", "<c><![CDATA[ ]]></c>", "<c><![]]></c>",
	"<c><![CDATA[x]]></c>", "<c><!-- x --></c>", "<c x=\"1\"/><c/>", "<c><d x=\"1\">y</d></c>", "<c/ x=\"1\"/>", "<c/ x/>", "< c x=\"1\"/>", "<c x=\"1\"/><![CDATA[]]>y",
}, declared("<!ENTITY x \""+strings.Repeat("y", 10_000)+"\">", "<!ENTITY x \""+strings.Repeat("y", 10_001)+"\">", entities(1000, "y"), entities(1001, "y"), entities(1001, "&y;")))

// declared are declarations of a document's type with a body.
func declared(bodies ...string) []string {
	for i, body := range bodies {
		bodies[i] = "<!DOCTYPE a [" + body + "]>"
	}
	return bodies
}

// entities declares entities with the same text.
func entities(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<!ENTITY x%d \"%s\">", i, text)
	}
	return b.String()
}

// within are the elements that [insideRows] look for, by what the text has.
var within = map[string][]string{
	"":         {"r.b", "r.#text"},
	"b":        {"r.b.1", "r.b.01", "r.b.2", "r.b.0", "r.b.-1", "r.b.#text", "r.b.@_x", "r.b.1.@_x", "r.b.0.b", "r.b.b"},
	"c":        {"r.c", "r.c.@_x", "r.c.@_y", "r.c.#text", "r.c.0", "r.c.1", "r.c.d", "r.c.d.1", "r.c/", "r.c.c", "r.", "r..@_x"},
	"?":        {"r.?p", "r.?p.@_x", "r.?p.@_y", "r.?p.#text"},
	"toString": {"r.toString"}, "valueOf": {"r.valueOf"},
}

// insideRows returns rows of contains-xml about elements with each of the texts.
func insideRows() []Row {
	var rows []Row
	ask := func(output string, value any) {
		rows = append(rows, Row{Output: output, Asserts: []Assertion{{Type: "contains-xml", Value: value}}})
	}
	for _, text := range inside {
		before, after := "<r>"+text+"<b>1</b></r>", "see <r><b>1</b>"+text+"</r> there"
		ask(before, nil)
		ask(after, "r.#text")
		for _, mark := range slices.Sorted(maps.Keys(within)) {
			if !strings.Contains(text, "<"+mark) {
				continue
			}
			for _, path := range within[mark] {
				ask(before, path)
			}
		}
	}
	ask("<r><b>1</b></r>", "r.toString")
	ask("<r><b>1</b></r>", []any{"r.b", "valueOf"})
	for _, n := range []int{100, 101, 102} {
		ask(strings.Repeat("<a>", n)+strings.Repeat("</a>", n), nil)
	}
	return rows
}
