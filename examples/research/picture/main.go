// Command picture draws the parts of Gavel that people see. It reads a comment as
// Markdown on stdin and writes a page that shows it as a forge does, or with -png
// pictures of it in both themes. The pictures of the README are made by
//
//	go -C examples/research run ./picture -readme
//
// from the comment of gavel demo in examples/mixed and from the frames that the tests
// of the screen store. Pictures of comments need Chromium and a font with emoji, in
// Debian chromium and fonts-noto-color-emoji.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// Sources and folder of the pictures in the README.
const (
	readmeComment = "examples/mixed/COMMENT.md"
	readmeFrame   = "reporters/screen/testdata/colors_%s.txt"
	commentFile   = ".github/comment"
	terminalFile  = ".github/watch"
)

var themes = []string{"light", "dark"}

func main() {
	name := flag.String("png", "", "write NAME-light.png and NAME-dark.png instead of the page")
	width := flag.Int("width", 920, "width of the pictures in pixels")
	readme := flag.Bool("readme", false, "draw the pictures of the README, from the folder of this module")
	flag.Parse()
	draw := func() error { return comment(os.Stdin, *name, *width) }
	if *readme {
		draw = func() error { return drawReadme(*width) }
	}
	if err := draw(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// drawReadme draws the comment and the terminal in both themes. It goes to the folder of
// the repository first.
func drawReadme(width int) error {
	if err := os.Chdir("../.."); err != nil {
		return err
	}
	markdown, err := os.Open(readmeComment)
	if err != nil {
		return err
	}
	defer markdown.Close()
	if err := comment(markdown, commentFile, width); err != nil {
		return err
	}
	for _, theme := range themes {
		frame, err := os.ReadFile(fmt.Sprintf(readmeFrame, theme))
		if err != nil {
			return err
		}
		drawn, err := terminal(string(frame), theme)
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s-%s.svg", terminalFile, theme), drawn, 0o644) //nolint:gosec // a file of the repository
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// comment draws Markdown: a page on stdout, or pictures with this name.
func comment(markdown io.Reader, name string, width int) error {
	text, err := io.ReadAll(markdown)
	if err != nil {
		return err
	}
	if name == "" {
		page, err := render(text, "")
		if err == nil {
			_, err = os.Stdout.Write(page)
		}
		return err
	}
	for _, theme := range themes {
		page, err := render(text, theme)
		if err == nil {
			err = photograph(page, fmt.Sprintf("%s-%s.png", name, theme), width)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// alert is the first line of a quote that a forge shows as a warning.
var alert = regexp.MustCompile(`<blockquote>\s*<p>\[!([A-Z]+)\]\s*`)

// render makes a page of Markdown in the dialect of GitHub. The theme is light or
// dark; empty leaves it to the browser.
func render(text []byte, theme string) ([]byte, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	var body bytes.Buffer
	if err := markdown.Convert(text, &body); err != nil {
		return nil, err
	}
	marked := alert.ReplaceAllStringFunc(body.String(), func(found string) string {
		kind := alert.FindStringSubmatch(found)[1]
		return fmt.Sprintf(`<blockquote class="alert %s"><p class="kind">%s</p><p>`, strings.ToLower(kind), kind[:1]+strings.ToLower(kind[1:]))
	})
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{"Theme": theme, "Body": template.HTML(marked)}) //nolint:gosec // a comment of our own
	return out.Bytes(), err
}

// tallest is the height of a page before the empty rows at its end are cut off.
const tallest = 6000

// photograph makes Chromium draw a page into a file, which names the page that it
// shows.
func photograph(page []byte, file string, width int) error {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("chromium is not installed; leave -png out and open the page in a browser")
	}
	dir, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.png")
	if err := os.WriteFile(source, page, 0o600); err != nil {
		return err
	}
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+dir, //nolint:gosec // a fixed program
		fmt.Sprintf("--window-size=%d,%d", width, tallest), "--screenshot="+shot, "file://"+source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chromium: %w\n%s", err, out)
	}
	drawn, err := os.ReadFile(shot)
	if err != nil {
		return err
	}
	if drawn, err = cropped(drawn); err != nil {
		return err
	}
	return os.WriteFile(file, stamped(drawn, page), 0o644) //nolint:gosec // a file of the repository
}
