// Package operator makes of the operator's file what a server looks after: it
// reads the secrets that the file names, and makes one client for each forge
// and credential.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/serve"
)

// An Operator reads one file's repositories. It is for one goroutine.
type Operator struct {
	File      *config.Server
	LookupEnv func(name string) (string, bool)
	// Transport carries the requests of a credential.
	Transport func(credential string) http.RoundTripper
	// Now and Wait are the clients'. Default to the real clock.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error

	secrets []string
	clients map[string]*forge.Client // by forge and credential
}

// Secret reads a secret from where it is; what says whose it is. From then on
// [Operator.Redact] knows it.
func (o *Operator) Secret(what string, from config.Secret) (string, error) {
	value, where := "", "the variable "+from.Env
	if from.File != "" {
		where = "the file " + from.File
		data, err := os.ReadFile(from.File)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		value = string(data)
	} else {
		value, _ = o.LookupEnv(from.Env)
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("%s: %s holds nothing", what, where)
	}
	o.secrets = append(o.secrets, value)
	return value, nil
}

// Redact takes the secrets that were read out of a text.
func (o *Operator) Redact(text string) string {
	const short = 8 // shorter ones stand in ordinary words
	for _, value := range o.secrets {
		if len(value) >= short {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return text
}

// Repositories are all of the file's. The error names each that cannot be
// looked after.
func (o *Operator) Repositories() ([]serve.Repository, error) {
	var all []serve.Repository
	var errs []error
	for _, r := range o.File.Repositories {
		repo, err := o.Repository(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", cmp.Or(r.Name, r.URL), err))
		}
		all = append(all, repo)
	}
	return all, errors.Join(errs...)
}

// Repository is one of the file's with its client and credential.
func (o *Operator) Repository(r config.Repository) (serve.Repository, error) {
	out := serve.Repository{URL: r.URL, Branches: r.Branches, ConfigFile: r.Config}
	// What the file asks for and nobody does must not look as if it were done.
	if r.Schedule != nil || r.DriftIssue != 0 {
		return out, errors.New("schedule and drift_issue: gavel serve runs nothing by the clock; remove them, and run gavel run --all in a job of your own")
	}
	token := ""
	if r.Credential != "" {
		c := o.File.Credentials[r.Credential]
		if c.AppID != 0 {
			return out, fmt.Errorf("credential %s is a GitHub App, and gavel serve takes tokens: write token_env or token_file", r.Credential)
		}
		var err error
		if token, err = o.Secret("credential "+r.Credential, c.Token); err != nil {
			return out, err
		}
		out.Token = func() string { return token }
	}
	if r.Name == "" {
		return out, nil
	}
	var err error
	if out.Name, err = forge.ParseRepo(r.Name); err != nil {
		return out, err
	}
	out.WebURL = forge.WebURL(r.Forge)
	out.Client, err = o.client(r.Forge, r.Credential, forge.Token(token))
	return out, err
}

// client is the one of a forge and a credential: two would write at the same
// time.
func (o *Operator) client(base, credential string, token forge.Token) (*forge.Client, error) {
	id := base + " " + credential
	if c := o.clients[id]; c != nil {
		return c, nil
	}
	c, err := forge.New(forge.Config{
		BaseURL: base, Token: token, Now: o.Now, Wait: o.Wait, Transport: o.Transport(cmp.Or(credential, "none")),
	})
	if err != nil {
		return nil, err
	}
	if o.clients == nil {
		o.clients = map[string]*forge.Client{}
	}
	o.clients[id] = c
	return c, nil
}
