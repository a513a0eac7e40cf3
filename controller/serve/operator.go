package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
)

// An Operator reads the repositories of the operator's file and of its later versions. It
// reads the secrets that the file names, and makes one client per forge and credential.
// It is safe for concurrent use.
type Operator struct {
	// File is the first version, see [Operator.Next].
	File      *config.Server
	LookupEnv func(name string) (string, bool)
	// Transport carries the requests of a credential.
	Transport func(credential string) http.RoundTripper
	// Clock is the clock of the clients. Defaults to the machine's.
	Clock clock.Clock

	mu sync.Mutex
	// The fields below are guarded by mu.
	secrets map[string][]string      // by whose they are, the newest last
	clients map[string]*forge.Client // by forge and credential
	file    *config.Server           // that is in force; nil is File
	last    []*Repository            // the last result of Repositories, parallel to the file's
}

const (
	// short is the length below which secrets look like parts of words.
	short = 8
	// remembered bounds the secrets per name: the tokens of an App expire after an hour,
	// and a private key has some thirty lines.
	remembered = 100
)

// Secret reads a secret from its variable or file. what names its owner in errors. From
// then on [Operator.Redact] removes it.
func (o *Operator) Secret(what string, from config.Secret) (forge.Token, error) {
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
	o.learn(what, forge.Token(value))
	return forge.Token(value), nil
}

// learn keeps a secret, and each line of a key, so that none of them is shown.
func (o *Operator) learn(what string, secret forge.Token) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.secrets[what]
	for line := range strings.Lines(strings.ReplaceAll(string(secret), `\n`, "\n")) {
		line = strings.TrimSpace(line)
		if len(line) >= short && !strings.HasPrefix(line, "-----") && !slices.Contains(known, line) {
			known = append(known, line)
		}
	}
	if o.secrets == nil {
		o.secrets = map[string][]string{}
	}
	o.secrets[what] = known[max(0, len(known)-remembered):]
}

// Redact removes the secrets that were read from a text.
func (o *Operator) Redact(text string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, values := range o.secrets {
		for _, value := range values {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return text
}

// current returns the file in force.
func (o *Operator) current() *config.Server {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.file, o.File)
}

// Next replaces the file in force and returns the repositories of the new one. A
// repository with an unchanged configuration keeps its pointer. If some repositories
// cannot be watched, the error names them and the former file stays in force.
func (o *Operator) Next(file *config.Server) ([]*Repository, error) {
	o.mu.Lock()
	before, last := cmp.Or(o.file, o.File), o.last
	o.file = file
	o.mu.Unlock()
	all, err := o.Repositories()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.file, o.last = before, last
		return nil, err
	}
	for i, r := range file.Repositories {
		for j := range last {
			if old := before.Repositories[j]; reflect.DeepEqual(r, old) && file.Credentials[r.Credential] == before.Credentials[old.Credential] {
				all[i] = last[j]
			}
		}
	}
	o.last = all
	return all, nil
}

// Repositories returns the repositories of the file. The error names each one that cannot
// be watched.
func (o *Operator) Repositories() ([]*Repository, error) {
	var all []*Repository
	var errs []error
	for _, r := range o.current().Repositories {
		repo, err := o.Repository(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", cmp.Or(r.Name, r.URL), err))
		}
		all = append(all, &repo)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = all
	return all, errors.Join(errs...)
}

// Repository returns a repository of the file with its client and credential.
func (o *Operator) Repository(r config.Repository) (Repository, error) {
	out := Repository{URL: r.URL, Branches: r.Branches, ConfigFile: r.Config, DriftIssue: r.DriftIssue}
	if r.Schedule != nil {
		out.Schedule = r.Schedule
	}
	c := o.current().Credentials[r.Credential]
	// A missing credential is reported now and not when it is needed.
	if r.Credential != "" {
		if _, err := o.Secret("credential "+r.Credential, cmp.Or(c.Token, c.Key)); err != nil {
			return out, err
		}
	}
	if r.Name == "" {
		if r.Credential != "" {
			out.Token = func(context.Context, string) (string, error) {
				token, err := o.Secret("credential "+r.Credential, c.Token)
				return string(token), err
			}
		}
		return out, nil
	}
	var err error
	if out.Name, err = forge.ParseRepo(r.Name); err != nil {
		return out, err
	}
	out.WebURL = forge.WebURL(r.Forge)
	if out.Client, err = o.client(r.Forge, r.Credential); err != nil {
		return out, err
	}
	if r.Credential != "" {
		out.Token = func(ctx context.Context, refused string) (string, error) {
			token, err := out.Client.GitToken(ctx, out.Name, forge.Token(refused))
			return string(token), err
		}
	}
	return out, nil
}

// client returns the only client of a forge and a credential, since two would write at
// the same time.
func (o *Operator) client(base, credential string) (*forge.Client, error) {
	given := o.current().Credentials[credential]
	o.mu.Lock()
	defer o.mu.Unlock()
	id := fmt.Sprintf("%s %+v", base, given)
	if c := o.clients[id]; c != nil {
		return c, nil
	}
	cfg := forge.Config{BaseURL: base, Clock: o.Clock, Transport: o.Transport(cmp.Or(credential, "none"))}
	what := "credential " + credential
	switch {
	case given.AppID != 0:
		cfg.App = &forge.AppConfig{
			ID: given.AppID, Installation: given.Installation,
			Learned: func(token forge.Token) { o.learn(what+", installation", token) },
			Key:     func() (forge.Token, error) { return o.Secret(what, given.Key) },
		}
	case credential != "":
		cfg.Read = func() (forge.Token, error) { return o.Secret(what, given.Token) }
	}
	c, err := forge.New(cfg)
	if err != nil {
		return nil, err
	}
	if o.clients == nil {
		o.clients = map[string]*forge.Client{}
	}
	o.clients[id] = c
	return c, nil
}

// WebhookSecrets returns the secrets that may sign deliveries: the current one and, during
// a rotation, the previous one. A file without a webhook has none.
func (o *Operator) WebhookSecrets() ([]forge.Token, error) {
	hook := o.current().Webhook
	if hook == nil {
		return nil, nil
	}
	secret, err := o.Secret("webhook", hook.Secret)
	if err != nil {
		return nil, err
	}
	secrets := []forge.Token{forge.Token(secret)}
	if hook.Previous == (config.Secret{}) {
		return secrets, nil
	}
	before, err := o.Secret("webhook, the secret before", hook.Previous)
	return append(secrets, forge.Token(before)), err
}
