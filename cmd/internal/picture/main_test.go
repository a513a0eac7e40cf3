package main

import (
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
