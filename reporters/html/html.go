// Package html renders a report as one page that needs nothing else: no network,
// no server and no other file.
//
// Most callers want [Write]. The page shows the headline, what a reader must know
// before trusting it, the groups, and every case with its reason, conversation and
// criteria. It works without JavaScript, which only filters. Everything that a
// repository or a model says is escaped, and the page's own policy lets no other
// script run and no address be asked.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"

	"github.com/gavel-evals/gavel/controller/report"
)

var (
	//go:embed page.tmpl
	pageText string
	//go:embed page.css
	ownStyle string
	//go:embed page.js
	script string
)

// style is that of the parts and of the page.
var style = Style + ownStyle

// page is parsed when the first page is written, which few commands do.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(Templates(template.New("page")).Parse(pageText))
})

// policy allows the style and the script of the page and nothing else.
var policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(style) + "; script-src " + hashOf(script)

// hashOf is the source expression of Content Security Policy Level 3, section
// 2.3.1, for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write renders the page of a report. The error is that of w.
func Write(w io.Writer, r *report.Report, o Options) error {
	v := newView(r, o)
	v.Policy, v.Style, v.Script = policy, template.CSS(style), template.JS(script) //nolint:gosec // our own files
	return page().Execute(w, v)
}
