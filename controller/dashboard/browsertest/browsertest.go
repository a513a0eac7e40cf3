// Package browsertest looks at pages in a real Chromium, as people do. Most callers
// want [Open] and [Browser.Check]. Its tests run if GAVEL_TEST_BROWSER is set: to the
// path of axe.min.js of axe-core, or to 1 to leave out the check of accessibility.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The variables that the tests read. Pictures, if set, is the folder that gets a
// picture of each checked page.
const (
	Variable = "GAVEL_TEST_BROWSER"
	pictures = "GAVEL_TEST_PICTURES"
)

// patience bounds what one step of a test waits for.
const patience = 30 * time.Second

// A Browser shows the pages of one server. It fails its test at an error on the console
// and at a request to any other server.
type Browser struct {
	testing.TB
	base string
	axe  string
	ctx  context.Context
}

// Open starts a browser for the server at base, and skips the test if none is wanted.
// It ends with the test.
func Open(tb testing.TB, base string) *Browser {
	tb.Helper()
	set := os.Getenv(Variable)
	if set == "" {
		tb.Skip(Variable + " is not set")
	}
	b := &Browser{TB: tb, base: base}
	if set != "1" {
		script, err := os.ReadFile(set)
		if err != nil {
			tb.Fatal(err)
		}
		b.axe = string(script)
	}
	// The tests run as any user, including in containers, where Chromium's own sandbox
	// cannot be made. The pages come from the test. A cold browser on a busy machine may
	// take longer to start than the library waits for by default.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(tb.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	tb.Cleanup(end)
	var endTab context.CancelFunc
	b.ctx, endTab = chromedp.NewContext(allocated)
	tb.Cleanup(func() {
		_ = chromedp.Cancel(b.ctx) // closes the browser, which otherwise writes into its folder while that is removed
		endTab()
	})
	chromedp.ListenTarget(b.ctx, b.hear)
	b.Do(network.Enable(), log.Enable(), runtime.Enable())
	return b
}

// WithoutScripts turns off the scripts of the pages that are visited later.
func (b *Browser) WithoutScripts() {
	b.Helper()
	b.Do(emulation.SetScriptExecutionDisabled(true))
}

// hear fails the test for unwanted events.
func (b *Browser) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.base+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			b.Errorf("a page asks %s", e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.Errorf("an exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.Errorf("the console has an error: %v", e.Args)
		}
	case *log.EventEntryAdded:
		// A status is the server's answer, and not an error of the page.
		if e.Entry.Level == log.LevelError && !strings.HasPrefix(e.Entry.Text, "Failed to load resource: the server responded with a status") {
			b.Errorf("the log has an error: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}
}

// Do carries steps out.
func (b *Browser) Do(steps ...chromedp.Action) {
	b.Helper()
	ctx, end := context.WithTimeout(b.ctx, patience)
	defer end()
	// The first call starts the browser, which must not end with the steps.
	if chromedp.FromContext(b.ctx).Target == nil {
		if err := chromedp.Run(b.ctx); err != nil {
			b.Fatal(err)
		}
	}
	if err := chromedp.Run(ctx, steps...); err != nil {
		var page string
		_ = chromedp.Run(b.ctx, chromedp.Evaluate("location.href + '\\n' + document.body.innerText", &page)) // it explains the error
		b.Fatalf("a step of the browser: %v, on the page\n%.3000s", err, page)
	}
}

// Visit opens a page of the server.
func (b *Browser) Visit(path string) {
	b.Helper()
	b.Do(chromedp.Navigate(b.base + path))
}

// Click clicks on the first element that a selector finds, and waits for the page that
// follows.
func (b *Browser) Click(selector string) {
	b.Helper()
	b.Do(Loaded(chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible)))
}

// Loaded does something that loads a page, and waits until that is there.
func Loaded(step chromedp.Action) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := chromedp.RunResponse(ctx, step)
		return err
	})
}

// Eval returns the value of an expression.
func Eval[T any](b *Browser, expression string) T {
	b.Helper()
	var out T
	b.Do(chromedp.Evaluate(expression, &out))
	return out
}

// Await waits until an expression is true.
func (b *Browser) Await(expression string) {
	b.Helper()
	b.Do(chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(patience)))
}

// Text returns the text of an element.
func (b *Browser) Text(selector string) string {
	b.Helper()
	return Eval[string](b, fmt.Sprintf("(document.querySelector(%q) || {innerText: ''}).innerText", selector))
}

// Tab presses the tab key until an element that a selector finds has the focus.
func (b *Browser) Tab(selector string) {
	b.Helper()
	for range 200 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		if Eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	b.Fatalf("the tab key does not reach %s at %s:\n%.3000s", selector, b.Path(), b.Text("main"))
}

// Press presses keys.
func (b *Browser) Press(keys string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// PressLoad presses a key that loads a page, and waits until that is there.
func (b *Browser) PressLoad(key string) {
	b.Helper()
	b.Do(Loaded(chromedp.KeyEvent(key)))
}

// A shape is how a page is looked at.
type shape struct {
	name, theme   string
	width, height int64
}

var shapes = []shape{{"wide-light", "light", 1280, 900}, {"phone-dark", "dark", 390, 844}, {"wide-dark", "dark", 1280, 900}, {"phone-light", "light", 390, 844}}

// Check looks at the page in both themes, wide and as wide as a phone: nothing is wider
// than the window, and axe-core finds nothing in either theme.
func (b *Browser) Check(name string) {
	b.Helper()
	for i, s := range shapes {
		b.Do(
			chromedp.EmulateViewport(s.width, s.height),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.theme}}),
		)
		if wide := Eval[int64](b, "document.documentElement.scrollWidth"); wide > s.width {
			b.Errorf("%s: the page is %d pixels wide in a window of %d: %s", name, wide, s.width, Eval[string](b, widest))
		}
		if b.axe != "" && i < 2 {
			b.accessible(name + ", " + s.name)
		}
		if dir := os.Getenv(pictures); dir != "" {
			b.picture(filepath.Join(dir, name+"-"+s.name+".png"))
		}
	}
	b.Do(chromedp.EmulateViewport(1280, 900))
}

// widest names the elements that stick out.
const widest = `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll,pre,svg")).slice(0, 3).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40)).join(" | ")`

func (b *Browser) picture(file string) {
	b.Helper()
	var data []byte
	b.Do(chromedp.FullScreenshot(&data, 100))
	if err := os.WriteFile(file, data, 0o644); err != nil {
		b.Fatal(err)
	}
}

// accessible fails the test for the findings of axe-core.
func (b *Browser) accessible(name string) {
	b.Helper()
	var found string
	b.Do(
		chromedp.Evaluate(b.axe+"; true", nil),
		chromedp.Evaluate(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))}))))`,
			&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	var violations []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.Fatal(err)
	}
	for _, v := range violations {
		b.Errorf("axe-core finds on %s: %s: %s, want nothing\n\t%s", name, v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
	}
}

// Path returns the path of the page.
func (b *Browser) Path() string {
	b.Helper()
	at, err := url.Parse(Eval[string](b, "location.href"))
	if err != nil {
		b.Fatal(err)
	}
	return at.RequestURI()
}
