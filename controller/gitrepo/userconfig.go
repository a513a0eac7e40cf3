package gitrepo

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/config"
)

// scopes returns git's configuration from the most to the least specific file. go-git
// merges them only where the more specific one has no section at all.
func (r *Repository) scopes() ([]*config.Config, error) {
	r.mu.Lock()
	own, err := r.store.Config()
	r.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("read git's configuration: %w", err)
	}
	out := []*config.Config{own}
	for _, scope := range []config.Scope{config.GlobalScope, config.SystemScope} {
		c, err := config.LoadConfig(scope)
		if err != nil {
			return nil, fmt.Errorf("read git's configuration: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// includes reports whether a file of the configuration reads others, which go-git does not.
func includes(c *config.Config) bool {
	return c.Raw.HasSection("include") || c.Raw.HasSection("includeIf")
}

// author returns the name and e-mail address that git commits with; empty if it has none.
func (r *Repository) author() (name, email string, err error) {
	name, email = os.Getenv("GIT_AUTHOR_NAME"), os.Getenv("GIT_AUTHOR_EMAIL")
	scopes, err := r.scopes()
	if err != nil {
		return "", "", err
	}
	for _, c := range scopes {
		name, email = cmp.Or(name, c.Author.Name, c.User.Name), cmp.Or(email, c.Author.Email, c.User.Email)
		if (name == "" || email == "") && includes(c) {
			return "", "", refuseCommit("git's configuration includes other files, which gavel does not read: run `git config user.name \"Your name\"` and `git config user.email you@example.com` in this repository")
		}
	}
	return inSignature(name), inSignature(email), nil
}

// option returns the first value of an option, from the most specific file that has it.
func option(scopes []*config.Config, section, key string) string {
	for _, c := range scopes {
		if s := c.Raw.Section(section); s.HasOption(key) {
			return s.Option(key)
		}
	}
	return ""
}

// attributeFiles returns git's files of attributes outside of the working tree.
func (r *Repository) attributeFiles(scopes []*config.Config) []string {
	out := []string{"/etc/gitattributes"}
	home, _ := os.UserHomeDir() // no home folder, no file in it
	file := option(scopes, "core", "attributesfile")
	switch {
	case file == "":
		file = filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "attributes")
	case strings.HasPrefix(file, "~/"):
		file = filepath.Join(home, file[2:])
	}
	out = append(out, file)
	if common, err := commonDir(r.gitIn); err == nil {
		out = append(out, filepath.Join(common, "info", "attributes"))
	}
	return out
}
