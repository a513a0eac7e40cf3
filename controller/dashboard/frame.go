package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strings"

	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/reporters/html"
)

//go:embed assets/frame.tmpl
var frameFiles embed.FS

var frameTemplates = template.Must(template.ParseFS(frameFiles, "assets/frame.tmpl"))

//go:embed assets/pages.css
var ownStyle string

//go:embed assets/pages.js
var scriptText []byte

//go:embed assets/icon.svg
var iconImage []byte

// style has the styles of the parts and of the pages.
var styleSheet = []byte(html.Style + ownStyle)

// An asset is a file whose path changes with its content.
type asset struct {
	path, kind string
	data       []byte
}

var (
	styleFile  = assetOf("css", "text/css; charset=utf-8", styleSheet)
	scriptFile = assetOf("js", "text/javascript; charset=utf-8", scriptText)
	iconFile   = assetOf("svg", "image/svg+xml", iconImage)
)

func assetOf(extension, kind string, data []byte) asset {
	sum := sha256.Sum256(data)
	return asset{"/static/" + hex.EncodeToString(sum[:6]) + "." + extension, kind, data}
}

// Assets answers with the style, the script and the icon, which every page loads from
// /static/.
func Assets() http.Handler {
	mux := http.NewServeMux()
	for _, a := range []asset{styleFile, scriptFile, iconFile} {
		mux.HandleFunc("GET "+a.path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", a.kind)
			w.Header().Set("Cache-Control", "max-age=31536000, immutable")
			_, _ = w.Write(a.data) // the reader is gone
		})
	}
	return mux
}

// A Link is an entry of the navigation.
type Link struct{ Path, Text string }

// A FrameConfig describes the navigation.
type FrameConfig struct {
	// Root is the path before the paths of the links, such as /r/shop. Defaults to
	// none.
	Root string
	// Home is the link of the program's name. Defaults to the first page.
	Home string
	// Title is the subject of the pages, such as the name of a repository.
	Title string
	// Links returns the entries. A path that begins with // is not below the root.
	Links func(*http.Request) []Link
	// Trouble returns what prevents every run, and the path of a page about it. Each
	// page shows it. Defaults to nothing.
	Trouble func(*http.Request) (text, path string)
	// Hide removes secrets from a text. Defaults to [redact.Text].
	Hide func(string) string
}

// A Frame writes pages.
type Frame struct{ cfg FrameConfig }

// NewFrame returns a shell.
func NewFrame(cfg FrameConfig) *Frame {
	if cfg.Hide == nil {
		cfg.Hide = redact.Text
	}
	return &Frame{cfg}
}

// A Page is a page without its frame.
type Page struct {
	Status int
	Title  string
	Body   template.HTML
	// Refresh is after how many seconds a browser without JavaScript loads the page
	// again; 0 is never.
	Refresh int
	// Live is the path of events after which the page is loaded again; empty for none.
	Live string
}

// frameView is the data of the template.
type frameView struct {
	Title, Path, Site   string
	Home, Start         string
	Style, Script, Icon string
	Links               []Link
	Trouble             string
	TroublePath         string
	Refresh             int
	Live                string
	Body                template.HTML
}

// below returns the address of a path below the root.
func (s *Frame) below(path string) string {
	if strings.HasPrefix(path, "//") {
		return path[1:]
	}
	return s.cfg.Root + path
}

// Write writes a page with the navigation around it.
func (s *Frame) Write(w http.ResponseWriter, r *http.Request, f Page) {
	v := frameView{
		Title: f.Title, Path: s.cfg.Root + r.URL.Path, Site: s.cfg.Title, Home: s.cfg.Home, Start: s.cfg.Root + "/",
		Style: styleFile.path, Script: scriptFile.path, Icon: iconFile.path, Refresh: f.Refresh, Live: f.Live, Body: f.Body,
	}
	if v.Home == "" {
		v.Home = v.Start
	}
	if s.cfg.Links != nil {
		for _, l := range s.cfg.Links(r) {
			v.Links = append(v.Links, Link{s.below(l.Path), l.Text})
		}
	}
	if s.cfg.Trouble != nil {
		text, path := s.cfg.Trouble(r)
		v.Trouble, v.TroublePath = s.cfg.Hide(text), s.below(path)
	}
	var out bytes.Buffer
	if err := frameTemplates.ExecuteTemplate(&out, "shell", v); err != nil {
		http.Error(w, s.cfg.Hide(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(f.Status)
	_, _ = w.Write(out.Bytes()) // the reader is gone
}
