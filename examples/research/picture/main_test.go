package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	got, err := render([]byte("### ❌ 1 regression\n\n> [!WARNING]\n> lowered\n\n| a | b |\n|:--|--:|\n| x | **−1** |\n"), "dark")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"color-scheme:dark", "<h3", `<blockquote class="alert warning"><p class="kind">Warning</p><p>lowered`, "<table>", "<strong>−1</strong>"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page does not have %s:\n%s", want, got)
		}
	}
}

// TestThePicturesAreCurrent holds that the pictures of the README show the comment of
// gavel demo and the screen of gavel watch as they are.
func TestThePicturesAreCurrent(t *testing.T) {
	t.Chdir("../../..")
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	readme := string(read("README.md"))
	const again = "draw it again: go -C examples/research run ./picture -readme"
	for _, theme := range themes {
		file := fmt.Sprintf("%s-%s.png", commentFile, theme)
		page, err := render(read(readmeComment), theme)
		if err != nil {
			t.Fatal(err)
		}
		if picture := read(file); !bytes.Contains(picture, stamp(page)) {
			t.Errorf("%s does not show %s; %s", file, readmeComment, again)
		} else if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("%s is not a picture: %v", file, err)
		}
		if !strings.Contains(readme, file) {
			t.Errorf("the README does not show %s", file)
		}
		file = fmt.Sprintf("%s-%s.svg", terminalFile, theme)
		want, err := terminal(string(read(fmt.Sprintf(readmeFrame, theme))), theme)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(file), want) {
			t.Errorf("%s does not show the screen as it is; %s", file, again)
		}
		if !strings.Contains(readme, file) {
			t.Errorf("the README does not show %s", file)
		}
	}
}

// TestTerminal draws styles where they are, and refuses what it cannot draw.
func TestTerminal(t *testing.T) {
	got, err := terminal(" a‹1;38;5;210;48;5;237›<b>‹›\n", "dark")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<rect x="30.8" y="14" width="25.2" height="18" fill="#3a3a3a"/>`,
		`<text x="30.8" y="27" textLength="25.2" lengthAdjust="spacingAndGlyphs" fill="#ff8787" font-weight="bold">&lt;b&gt;</text>`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the picture does not have %s:\n%s", want, got)
		}
	}
	for _, wrong := range []string{"‹31›x", "‹38;5;7›x", "‹38;5›x"} {
		if _, err := terminal(wrong, "dark"); err == nil {
			t.Errorf("%s is drawn, want an error", wrong)
		}
	}
}
