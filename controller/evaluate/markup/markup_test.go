package markup_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/markup"
)

// TestXML has what promptfoo 0.123.1 says of texts; the oracle has many more.
func TestXML(t *testing.T) {
	for _, tt := range []struct {
		text, elements string
		is, contains   bool
	}{
		{"<note><to>x</to></note>", "note.to", true, true},
		{"<note><to>x</to></note>", "note.from", false, false},
		{"\ufeff<a/>", "", true, true},
		{"x <a/>", "a", false, true},
		{"<a><b></a>", "a.b", false, false},
		{"<a>&nbsp;</a>", "a", false, true},
		{"<a><b>1</b><b>2</b></a>", "a.b.1", true, true},
		{"<a xmlns:x=''/>", "", false, true},
		{"<a><constructor/></a>", "", false, false},
		{strings.Repeat("<a>", 20_000), "", false, false},
		{"", "", false, false},
	} {
		var elements []string
		if tt.elements != "" {
			elements = []string{tt.elements}
		}
		if err := markup.IsXML(tt.text, elements); (err == nil) != tt.is {
			t.Errorf("%.40q is XML with %q: %v, want %v", tt.text, elements, err, tt.is)
		}
		if err := markup.ContainsXML(tt.text, elements); (err == nil) != tt.contains {
			t.Errorf("%.40q contains XML with %q: %v, want %v", tt.text, elements, err, tt.contains)
		}
	}
}

// TestHTML has what promptfoo 0.123.1 says of texts.
func TestHTML(t *testing.T) {
	for _, tt := range []struct {
		text         string
		is, contains bool
	}{
		{"<p>x</p>", true, true},
		{"text <b>x</b>", false, true},
		{"<body>x</body>", true, true},
		{"<div></div><body>x", false, true},
		{"<!-- <body> --> x", false, true},
		{"1 < 2", false, false},
		{"", false, false},
	} {
		why, err := markup.IsHTML(tt.text)
		if err != nil || (why == "") != tt.is {
			t.Errorf("%q is HTML: %q, %v, want %v", tt.text, why, err, tt.is)
		}
		if got := markup.ContainsHTML(tt.text); got != tt.contains {
			t.Errorf("%q contains HTML: %v, want %v", tt.text, got, tt.contains)
		}
	}
}

// TestDeepHTML: a text that cannot be read says nothing about the answer.
func TestDeepHTML(t *testing.T) {
	if why, err := markup.IsHTML(strings.Repeat("<div>", 100_000)); err == nil {
		t.Errorf("the reason is %q, want an error", why)
	}
}
