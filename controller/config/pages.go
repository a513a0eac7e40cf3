package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Pages say who may look at the pages of a server, and change what.
type Pages struct {
	Users []User
	// Proxy is nil if users only sign in with tokens.
	Proxy *Proxy
}

// Editable reports whether somebody may change the definitions of a repository.
func (p *Pages) Editable(repository string) bool {
	if p == nil {
		return false
	}
	edits := func(u User) bool {
		here := func(name string) bool { return strings.EqualFold(name, repository) }
		return u.Role == "edit" && (len(u.Repositories) == 0 || slices.ContainsFunc(u.Repositories, here))
	}
	return slices.ContainsFunc(p.Users, edits) || p.Proxy != nil && p.Proxy.Role == "edit"
}

// A User is a person or a program with a role.
type User struct {
	Name string
	// Token is zero for one who comes through the proxy.
	Token Secret
	// Role is see, judge or edit.
	Role string
	// Repositories are owner/name; none means all.
	Repositories []string
}

// A Proxy says which header has the name of the user, and which addresses may send it.
type Proxy struct {
	Header string
	From   []netip.Prefix
	// Role is the role of names that are not listed as users; empty for none.
	Role string
}

// pagesForm is Pages as it is written.
type pagesForm struct {
	Users map[string]struct {
		TokenEnv     string   `json:"token_env"`
		TokenFile    string   `json:"token_file"`
		Role         string   `json:"role"`
		Repositories []string `json:"repositories"`
	} `json:"users"`
	Proxy *struct {
		Header string   `json:"header"`
		From   []string `json:"from"`
		Role   string   `json:"role"`
	} `json:"proxy"`
}

// headerName matches the name of an HTTP header, which has at most maxHeaderName bytes.
var headerName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9-]*$`)

const maxHeaderName = 100

// pages checks who may look, and fills in the defaults. It is nil without pages.
func (k *serverChecker) pages(f *pagesForm) *Pages {
	if f == nil {
		return nil
	}
	out := &Pages{}
	for _, name := range slices.Sorted(maps.Keys(f.Users)) {
		u := f.Users[name]
		user := User{name, Secret{u.TokenEnv, u.TokenFile}, cmp.Or(u.Role, "see"), u.Repositories}
		if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			k.Fail("bad-name", fmt.Sprintf("%q is not the name of a user", name), "write a name such as ada", "pages", "users", name)
		}
		if user.Token != (Secret{}) || f.Proxy == nil {
			k.secret(user.Token, "token", "pages", "users", name)
		}
		for i, repo := range u.Repositories {
			if !slices.ContainsFunc(k.server.Repositories, func(r Repository) bool { return strings.EqualFold(r.Name, repo) }) {
				k.Fail("unknown-repository", fmt.Sprintf("user %q is for %q, which is not one of `repositories`", name, repo), "write its name as it is there, such as octo/demo", "pages", "users", name, "repositories", i)
			}
		}
		out.Users = append(out.Users, user)
	}
	if p := f.Proxy; p != nil {
		if out.Proxy = (&Proxy{Header: p.Header, Role: p.Role}); len(p.Header) > maxHeaderName || !headerName.MatchString(p.Header) {
			k.Fail("bad-header", fmt.Sprintf("`header` is %q, which is not the name of a header", p.Header), "write one such as X-Forwarded-User", "pages", "proxy", "header")
		}
		for i, text := range p.From {
			prefix, err := prefixOf(text)
			if err != nil {
				k.Fail("bad-address", fmt.Sprintf("`from` has %q, which is not an address", text), "write one such as 127.0.0.1, or a network such as 10.0.0.0/8", "pages", "proxy", "from", i)
			}
			out.Proxy.From = append(out.Proxy.From, prefix)
		}
	}
	return out
}

// prefixOf reads an address or a network.
func prefixOf(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return addr.Prefix(addr.BitLen())
}
