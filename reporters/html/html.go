// Package html renders a report as one self-contained page: no network, no server and
// no other file.
//
// Most callers want [Write]. The page shows the headline, warnings about the result,
// the groups, and every case with its reason, conversation and criteria. It works
// without JavaScript, which only filters. Every text of a repository or a model is
// escaped, and the page's own policy allows no other script and no request.
package html

import (
	"bufio"
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

// style is the style of the parts and of the page.
var style = Style + ownStyle

// page is parsed for the first page, since few commands write one.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(Templates(template.New("page")).Parse(pageText))
})

// policy only allows the style and the script of the page.
var policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(style) + "; script-src " + hashOf(script)

// hashOf returns the source expression of Content Security Policy Level 3, section
// 2.3.1, for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write renders the page of a report. The error is w's.
func Write(w io.Writer, r *report.Report, o Options) error {
	v := newView(r, o)
	v.Policy, v.Style, v.Script = policy, template.CSS(style), template.JS(script) //nolint:gosec // our own files
	buffered := bufio.NewWriterSize(w, 64<<10)                                     // a template writes every word on its own
	if err := page().Execute(buffered, v); err != nil {
		return err
	}
	return buffered.Flush()
}
