// Command picture draws a comment as a forge shows it. It reads Markdown on stdin,
// or with -demo takes the comment of gavel demo, and writes a page, or with -png
// pictures of it in both themes. Those of the README are made by
//
//	go run ./cmd/internal/picture -demo -png .github/comment
//
// The pictures need Chromium and a font with emoji, in Debian chromium and
// fonts-noto-color-emoji.
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

func main() {
	name := flag.String("png", "", "write NAME-light.png and NAME-dark.png instead of the page")
	width := flag.Int("width", 920, "width of the pictures in pixels")
	height := flag.Int("height", 1240, "height of the pictures in pixels")
	demo := flag.Bool("demo", false, "take the comment of gavel demo instead of stdin")
	flag.Parse()
	read := func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	if *demo {
		read = demoComment
	}
	if err := draw(read, *name, *width, *height); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// comment is the line of gavel demo that says where its comment is.
var comment = regexp.MustCompile(`(?m)^comment +(\S+)$`)

func demoComment() ([]byte, error) {
	out, err := exec.Command("go", "run", "./cmd/gavel", "demo").Output()
	if err != nil {
		return nil, fmt.Errorf("gavel demo: %w", err)
	}
	found := comment.FindSubmatch(out)
	if found == nil {
		return nil, errors.New("gavel demo does not say where its comment is")
	}
	return os.ReadFile(string(found[1]))
}

func draw(read func() ([]byte, error), name string, width, height int) error {
	text, err := read()
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
	for _, theme := range []string{"light", "dark"} {
		page, err := render(text, theme)
		if err == nil {
			err = photograph(page, fmt.Sprintf("%s-%s.png", name, theme), width, height)
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

// photograph has Chromium draw a page into a file.
func photograph(page []byte, file string, width, height int) error {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("chromium is not installed; leave -png out and open the page in a browser")
	}
	dir, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "page.html")
	if err := os.WriteFile(source, page, 0o600); err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+dir, //nolint:gosec // a fixed program
		fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+file, "file://"+source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chromium: %w\n%s", err, out)
	}
	return nil
}
