package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

const appID = 5

// An appWorld is an App on a forge whose clock may be another than ours.
type appWorld struct {
	forge  *forgetest.Forge
	fake   *forgetest.Clock
	client *forge.Client
	key    string

	mu   sync.Mutex
	skew time.Duration // guarded by mu
	seen []forge.Token // guarded by mu
}

func newAppWorld(t *testing.T, change func(*forge.AppConfig)) *appWorld {
	t.Helper()
	w := &appWorld{forge: newForge(t), fake: new(forgetest.Clock)}
	w.forge.Clock = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.fake.Now().Add(w.skew)
	}
	w.key = w.forge.AddApp(t, forgetest.App{ID: appID, Slug: "gavel-judge", Installation: 77})
	cfg := forge.AppConfig{ID: appID, Key: func() (forge.Token, error) { return forge.Token(w.key), nil }, Learned: func(token forge.Token) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, token)
	}}
	if change != nil {
		change(&cfg)
	}
	var err error
	w.client, err = forge.New(forge.Config{
		BaseURL: w.forge.URL, App: &cfg, Clock: clock.Funcs{NowFunc: w.fake.Now, SleepFunc: w.fake.Sleep, RandomFunc: func() float64 { return 0 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *appWorld) read(t *testing.T) {
	t.Helper()
	if _, err := w.client.Pull(t.Context(), demo, 7); err != nil {
		t.Fatal(err)
	}
}

func (w *appWorld) write(t *testing.T) {
	t.Helper()
	if _, _, err := w.client.REST().Issues.CreateComment(t.Context(), "octo", "demo", 7, &github.IssueComment{Body: github.String("hello")}); err != nil {
		t.Fatal(err)
	}
}

func (w *appWorld) pass(d time.Duration) { _ = w.fake.Sleep(context.Background(), d) }

// TestAppTokens asks for a token once, for another before that ends, and knows
// the installation from then on.
func TestAppTokens(t *testing.T) {
	w := newAppWorld(t, nil)
	w.read(t)
	w.write(t)
	w.pass(54 * time.Minute)
	w.read(t)
	if n := len(w.forge.Tokens()); n != 1 {
		t.Errorf("%d tokens within 54 minutes, want 1", n)
	}
	w.pass(time.Minute)
	w.read(t)
	if n := len(w.forge.Tokens()); n != 2 {
		t.Errorf("%d tokens after 55 minutes, want 2", n)
	}
	asked := 0
	for _, r := range w.forge.Requests() {
		if strings.HasSuffix(r.Path, "/installation") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for the installation", asked)
	}
	if got := w.forge.Comments(7); len(got) != 1 || got[0].Login != "gavel-judge[bot]" {
		t.Errorf("comments %+v", got)
	}
	if len(w.seen) != 2 {
		t.Errorf("told about %d tokens", len(w.seen))
	}
	if login, err := w.client.Login(t.Context()); err != nil || login != "gavel-judge[bot]" {
		t.Errorf("login %q, %v", login, err)
	}
}

// TestAppTokenIsAskedForOnce by all that need it at the same moment.
func TestAppTokenIsAskedForOnce(t *testing.T) {
	w := newAppWorld(t, func(cfg *forge.AppConfig) { cfg.Installation = 77 })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { w.read(t) })
	}
	wg.Wait()
	if n := len(w.forge.Tokens()); n != 1 {
		t.Errorf("%d tokens", n)
	}
	for _, r := range w.forge.Requests() {
		if strings.HasSuffix(r.Path, "/installation") {
			t.Error("asked for an installation that is given")
		}
	}
}

// TestAbuseExpiredAppTokenAndClockSkew: a token that ends in the middle of a
// run, or is revoked, costs one more request and no write that is done twice;
// a clock that is wrong by hours nothing more than that either.
func TestAbuseExpiredAppTokenAndClockSkew(t *testing.T) {
	t.Run("revoked before a write", func(t *testing.T) {
		w := newAppWorld(t, nil)
		w.read(t)
		w.forge.Revoke()
		w.write(t)
		w.read(t)
		if comments, tokens := len(w.forge.Comments(7)), len(w.forge.Tokens()); comments != 1 || tokens != 2 {
			t.Errorf("%d comments, %d tokens", comments, tokens)
		}
	})
	t.Run("refused again and again", func(t *testing.T) {
		w := newAppWorld(t, nil)
		w.forge.Inject(forgetest.Fault{Path: "/pulls/", Status: http.StatusUnauthorized, Times: -1})
		_, err := w.client.Pull(t.Context(), demo, 7)
		var denied *forge.DeniedError
		if !errors.As(err, &denied) || len(w.forge.Tokens()) != 2 {
			t.Errorf("got %v after %d tokens, want one refresh", err, len(w.forge.Tokens()))
		}
	})
	for _, skew := range []time.Duration{-30 * time.Hour, -5 * time.Minute, -50 * time.Second, 50 * time.Second, 5 * time.Minute, 30 * time.Hour} {
		t.Run(fmt.Sprint("the forge's clock is ", skew, " off"), func(t *testing.T) {
			w := newAppWorld(t, nil)
			w.skew = skew
			w.read(t)
			w.write(t)
			w.pass(56 * time.Minute)
			w.write(t)
			if comments, tokens := len(w.forge.Comments(7)), len(w.forge.Tokens()); comments != 2 || tokens != 2 {
				t.Errorf("%d comments, %d tokens", comments, tokens)
			}
		})
	}
	t.Run("the clock jumps", func(t *testing.T) {
		w := newAppWorld(t, nil)
		w.read(t)
		w.mu.Lock()
		w.skew = 3 * time.Hour // ours stopped while the machine slept
		w.mu.Unlock()
		w.write(t)
		if comments, tokens := len(w.forge.Comments(7)), len(w.forge.Tokens()); comments != 1 || tokens != 2 {
			t.Errorf("%d comments, %d tokens", comments, tokens)
		}
	})
	t.Run("no token to be had", func(t *testing.T) {
		w := newAppWorld(t, nil)
		w.read(t)
		w.pass(56 * time.Minute)
		w.forge.Inject(forgetest.Fault{Path: "/access_tokens", Status: 500, Times: -1})
		w.read(t) // the current one lasts for four minutes more, minus the wait
		w.pass(10 * time.Minute)
		if _, err := w.client.Pull(t.Context(), demo, 7); err == nil {
			t.Error("a token that ended was used")
		}
	})
}

// TestAppErrors name what to do, and show nothing of the key.
func TestAppErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(w *appWorld, cfg *forge.AppConfig)
		fault  forgetest.Fault
		want   string
	}{
		{"no key", func(_ *appWorld, cfg *forge.AppConfig) {
			cfg.Key = func() (forge.Token, error) { return "s3cret-key", nil }
		}, forgetest.Fault{}, "not an RSA key in PEM"},
		{"not installed", func(*appWorld, *forge.AppConfig) {}, forgetest.Fault{Path: "/installation", Status: 404}, "not installed in octo/demo"},
		{"another App", func(_ *appWorld, cfg *forge.AppConfig) { cfg.ID = 6 }, forgetest.Fault{}, "as the App 6"},
		{"odd answer", func(*appWorld, *forge.AppConfig) {}, forgetest.Fault{Path: "/access_tokens", Status: 201, Body: `{"token": "ghs_s3cret", "expires_at": 5}`}, "not JSON of the expected form"},
		{"empty answer", func(*appWorld, *forge.AppConfig) {}, forgetest.Fault{Path: "/access_tokens", Status: 201, Body: `{}`}, "the answer has none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w *appWorld
			w = newAppWorld(t, func(cfg *forge.AppConfig) { tt.change(w, cfg) })
			if tt.fault.Status != 0 {
				w.forge.Inject(tt.fault)
			}
			_, err := w.client.Pull(t.Context(), demo, 7)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestInstallationMadeAnew is looked up again.
func TestInstallationMadeAnew(t *testing.T) {
	w := newAppWorld(t, nil)
	w.read(t)
	w.key = w.forge.AddApp(t, forgetest.App{ID: appID, Slug: "gavel-judge", Installation: 78})
	w.forge.Revoke()
	if _, err := w.client.Pull(t.Context(), demo, 7); err == nil {
		t.Error("the installation that was removed still answers")
	}
	w.read(t)
}

// TestReadCredential is read for each request, and the last one holds while a
// file is replaced.
func TestReadCredential(t *testing.T) {
	f := newForge(t)
	var token forge.Token
	var broken error
	c, err := forge.New(forge.Config{BaseURL: f.URL, Read: func() (forge.Token, error) { return token, broken }})
	if err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := c.Pull(t.Context(), demo, 7); return err }
	if err := read(); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("without a token: %v", err)
	}
	token = "old-token-that-ended"
	if err := read(); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("with an old one: %v", err)
	}
	token = forgetest.TokenUser
	if err := read(); err != nil {
		t.Error(err)
	}
	token, broken = "", errors.New("the file is away")
	if err := read(); err != nil {
		t.Error(err)
	}
	if got, err := c.GitToken(t.Context(), demo, ""); err != nil || string(got) != forgetest.TokenUser {
		t.Errorf("for git: %v", err)
	}
}

// TestReadsAreConditional: what did not change is not sent again, and what did
// is.
func TestReadsAreConditional(t *testing.T) {
	f := newForge(t)
	c := newClient(t, f.URL, new(forgetest.Clock))
	first, err := c.Pull(t.Context(), demo, 7)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Pull(t.Context(), demo, 7); err != nil || again != first {
		t.Errorf("got %+v, %v", again, err)
	}
	if tag := f.Requests()[1].Header.Get("If-None-Match"); tag == "" {
		t.Error("the second read was not conditional")
	}
	f.AddPull(forgetest.Pull{Number: 7, HeadSHA: baseSHA, HeadRef: "prompts", BaseSHA: baseSHA})
	if now, err := c.Pull(t.Context(), demo, 7); err != nil || now.HeadSHA != baseSHA {
		t.Errorf("after a change: %+v, %v", now, err)
	}
}

// TestAWrongKeyOfAnApp names the two settings that do not belong together.
func TestAWrongKeyOfAnApp(t *testing.T) {
	denied := &forge.DeniedError{Op: "as the App 12: GET app", Status: http.StatusUnauthorized, Message: "Unauthorized", AppID: 12}
	if got := denied.Error(); !strings.Contains(got, "app_id 12 and the private key do not belong together") || strings.Contains(got, "token") {
		t.Errorf("the error is %s", got)
	}
}
