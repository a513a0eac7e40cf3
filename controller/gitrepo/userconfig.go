package gitrepo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/config"
)

// scopes returns git's configuration from the most to the least specific file. go-git
// reads one file of each scope, and merges them only where the more specific one has no
// section at all.
func (r *Repository) scopes() ([]*config.Config, error) {
	r.mu.Lock()
	own, err := r.store.Config()
	r.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("read git's configuration: %w", err)
	}
	out := []*config.Config{own}
	for _, file := range configFiles() {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read git's configuration: %w", err)
		}
		c, err := config.ReadConfig(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("read git's configuration %s: %w", file, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// configFiles returns the files of the user's and the system's configuration.
func configFiles() []string {
	var out []string
	if file, isSet := os.LookupEnv("GIT_CONFIG_GLOBAL"); isSet {
		out = append(out, file)
	} else if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, ".gitconfig"), filepath.Join(configHome(home), "git", "config"))
	}
	if isOn(os.Getenv("GIT_CONFIG_NOSYSTEM")) {
		return out
	}
	return append(out, cmp.Or(os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"))
}

// configHome returns the folder of the user's configuration.
func configHome(home string) string {
	return cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
}

// isOn reads a boolean of git's configuration. A key without a value, which go-git reads
// as the text true, is on.
func isOn(text string) bool {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(text)
	return err == nil && n != 0
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
func option(scopes []*config.Config, section, key string) (value string, isSet bool) {
	for _, c := range scopes {
		if s := c.Raw.Section(section); s.HasOption(key) {
			return s.Option(key), true
		}
	}
	return "", false
}

// attributeFiles returns git's files of attributes outside of the working tree.
func (r *Repository) attributeFiles(scopes []*config.Config) (system, global, own string) {
	home, _ := os.UserHomeDir() // no home folder, no file in it
	global, _ = option(scopes, "core", "attributesfile")
	switch {
	case global == "":
		global = filepath.Join(configHome(home), "git", "attributes")
	case strings.HasPrefix(global, "~/"):
		global = filepath.Join(home, global[2:])
	}
	if common, err := commonDir(r.gitIn); err == nil {
		own = filepath.Join(common, "info", "attributes")
	}
	return "/etc/gitattributes", global, own
}
