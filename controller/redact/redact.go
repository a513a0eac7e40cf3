// Package redact removes secrets from outgoing texts: comments, reports, logs, exports
// and printed output. Evaluators and judges read the original texts, since otherwise a
// case that forbids a leaked key would pass.
//
// Most callers hide texts that look like secrets with [Text], or in all texts of a
// value with [Apply].
package redact

import "strings"

// Sign replaces a secret.
const Sign = "[redacted]"

// A form describes one kind of secret. Secrets are long and random enough to be
// unmistakable.
type form struct {
	// begins is the prefix of each. It is not preceded by a letter, digit or underscore
	// if it begins with a letter.
	begins string
	// length returns the number of following bytes that belong to a secret, or 0, and
	// the number of bytes that were examined and need not be again.
	length func(rest string) (secret, seen int)
}

var forms = []form{
	{"sk-", func(rest string) (int, int) {
		n := run(rest, isKey)
		if n < 20 || words(rest[:n]) {
			return 0, n
		}
		return n, n
	}},
	{"ghp_", atLeast(36, isAlphanumeric)},
	{"gho_", atLeast(36, isAlphanumeric)},
	{"ghu_", atLeast(36, isAlphanumeric)},
	{"ghs_", atLeast(36, isAlphanumeric)},
	{"ghr_", atLeast(36, isAlphanumeric)},
	{"github_pat_", atLeast(22, isWord)},
	{"AKIA", func(rest string) (int, int) {
		n := run(rest, isWord)
		if n != 16 || strings.ToUpper(rest[:n]) != rest[:n] || strings.Contains(rest[:n], "_") {
			return 0, n
		}
		return n, n
	}},
	{"AIza", atLeast(35, isKey)},
	{"AQ.", atLeast(40, isKey)},
	{"eyJ", webToken},
	{"-----BEGIN ", privateKey},
}

// atLeast returns a form of n or more bytes of a class.
func atLeast(n int, class func(byte) bool) func(string) (int, int) {
	return func(rest string) (int, int) {
		found := run(rest, class)
		if found < n {
			return 0, found
		}
		return found, found
	}
}

// webToken matches the rest of a JSON web token after its prefix: the rest of its first
// part and two more.
func webToken(rest string) (secret, seen int) {
	at := 0
	for part := range 3 {
		n := run(rest[at:], isKey)
		if n < 10 {
			return 0, at
		}
		at += n
		if part == 2 {
			return at, at
		}
		if at == len(rest) || rest[at] != '.' {
			return 0, at
		}
		at++
	}
	return 0, at
}

const dashes = "-----"

// privateKey matches the rest of a PEM block after its beginning. A truncated block has
// no end. A quote ends a block, also in a JSON string.
func privateKey(rest string) (secret, seen int) {
	const label, least = "PRIVATE KEY-----", 40
	head := strings.Index(rest[:min(len(rest), 60)], label)
	if head < 0 || strings.Trim(rest[:head], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return 0, 0
	}
	at := head + len(label)
	inside, _, _ := strings.Cut(rest[at:], dashes)
	body := run(inside, isPEM)
	at += body
	if tail, ok := strings.CutPrefix(rest[at:], dashes+"END "); ok {
		if end := strings.Index(tail[:min(len(tail), 60)], label); end >= 0 {
			return at + len(dashes+"END ") + end + len(label), at
		}
	}
	if body < least {
		return 0, at
	}
	return at, at
}

// run returns the number of leading bytes of s that belong to a class.
func run(s string, class func(byte) bool) int {
	for i := range len(s) {
		if !class(s[i]) {
			return i
		}
	}
	return len(s)
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isWord(c byte) bool { return c == '_' || isAlphanumeric(c) }

func isKey(c byte) bool { return c == '-' || isWord(c) }

func isPEM(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("+/=-:,.() \t\r\n\\", c) >= 0
}

// longestWord bounds a lower-case word in a name.
const longestWord = 19

// words reports whether the text is lower-case words with signs between them, such as
// sk-learn-compatible-estimators: a name, not a key.
func words(s string) bool {
	if strings.ContainsAny(s, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return false
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(word) > longestWord {
			return false
		}
	}
	return true
}

// shortest is the length of the shortest secret of any form.
const shortest = 20

// Text replaces texts in the form of a secret by [Sign]: keys of OpenAI, Anthropic and
// Gemini, tokens of GitHub, access keys of AWS, private keys in PEM, and JSON web
// tokens.
func Text(s string) string {
	out, _ := replace(s, func(_, _ string) string { return Sign })
	return out
}

// Masked replaces texts in the form of a secret by a text of the same form, in which,
// after the prefix, every letter is x and every digit 0. A scanner for secrets still
// finds the mask. found maps each secret to its mask.
func Masked(s string) (masked string, found map[string]string) {
	masked, _ = replace(s, func(begins, rest string) string {
		n, end := randomPart(begins, rest)
		secret, masked := begins+rest, begins+rest[:n]+strings.Map(mask, rest[n:end])+rest[end:]
		if secret != masked {
			if found == nil {
				found = map[string]string{}
			}
			found[secret] = masked
		}
		return masked
	})
	return masked, found
}

// randomPart returns where the random part of a secret begins and ends: after the kind of a
// key, such as proj-, and between the lines of a PEM block.
func randomPart(begins, rest string) (from, to int) {
	to = len(rest)
	if begins == "sk-" {
		for {
			sort, _, more := strings.Cut(rest[from:], "-")
			if !more || len(sort) > 8 || strings.ToLower(sort) != sort {
				return from, to
			}
			from += len(sort) + 1
		}
	}
	if strings.HasPrefix(begins, dashes) {
		from = strings.Index(rest, dashes) + len(dashes)
		if at := strings.LastIndex(rest, dashes+"END "); at >= from {
			to = at
		}
	}
	return from, to
}

func mask(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'x'
	case r >= 'A' && r <= 'Z':
		return 'X'
	case r >= '0' && r <= '9':
		return '0'
	}
	return r
}

// replace replaces every secret by the result of with for its prefix and the rest of
// it.
func replace(s string, with func(begins, rest string) string) (string, bool) {
	if len(s) < shortest {
		return s, false
	}
	var changed bool
	for _, f := range forms {
		if strings.Contains(s, f.begins) {
			var did bool
			s, did = f.replace(s, with)
			changed = changed || did
		}
	}
	return s, changed
}

func (f *form) replace(s string, with func(begins, rest string) string) (string, bool) {
	var out strings.Builder
	done, at := 0, 0
	for {
		i := strings.Index(s[at:], f.begins)
		if i < 0 {
			break
		}
		i += at
		at = i + len(f.begins)
		if i > 0 && isWord(s[i-1]) && isWord(f.begins[0]) {
			continue
		}
		secret, seen := f.length(s[at:])
		if secret == 0 {
			at += seen
			continue
		}
		out.WriteString(s[done:i])
		out.WriteString(with(f.begins, s[at:at+secret]))
		at += secret
		done = at
	}
	if done == 0 {
		return s, false
	}
	out.WriteString(s[done:])
	return out.String(), true
}
