// Package markup tells whether a text is or has XML or HTML, as promptfoo 0.123.1 does.
//
// Most callers want [IsXML], [ContainsXML], [IsHTML] and [ContainsHTML]. promptfoo reads
// XML twice: strictly with saxes, and leniently with fast-xml-parser to find elements. It
// reads HTML with parse5. Each has its part here, by its rules.
package markup

import (
	"strings"
	"unicode"
)

// isSpace reports whether JavaScript's \s is a character.
func isSpace(r rune) bool { return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r) }

// trim removes the white space around a text, as JavaScript does.
func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// isXMLSpace reports whether a byte is white space of XML.
func isXMLSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// skipSpace returns the text behind leading white space of XML.
func skipSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// nameStarts are the ranges of characters that begin a name of XML.
var nameStarts = [][2]rune{
	{':', ':'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x2FF}, {0x370, 0x37D}, {0x37F, 0x1FFF},
	{0x200C, 0x200D}, {0x2070, 0x218F}, {0x2C00, 0x2FEF}, {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF},
}

// nameRests are the ranges of further characters in a name.
var nameRests = [][2]rune{{'-', '.'}, {'0', '9'}, {0xB7, 0xB7}, {0x300, 0x36F}, {0x203F, 0x2040}}

// isNameStart reports whether a character begins a name of XML.
func isNameStart(r rune) bool { return within(r, nameStarts) }

// isNameRune reports whether a character may be in a name of XML.
func isNameRune(r rune) bool { return isNameStart(r) || within(r, nameRests) }

func within(r rune, ranges [][2]rune) bool {
	for _, span := range ranges {
		if span[0] <= r && r <= span[1] {
			return true
		}
	}
	return false
}

// cutName splits a text behind the name of XML at its beginning, which is empty if there
// is none.
func cutName(s string) (name, rest string) {
	for i, r := range s {
		if i == 0 && !isNameStart(r) || !isNameRune(r) {
			return s[:i], s[i:]
		}
	}
	return s, ""
}
