package gitrepo

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// fileScheme is the scheme of a local folder.
const fileScheme = "file"

// A remote is the origin of a clone, in a form that is safe to connect to.
type remote struct {
	// scheme is https, http, ssh or file.
	scheme string
	// url is as configured and may contain a credential; show does not.
	url, show string
	host      string // without the port; empty for file
	path      string // without a leading slash and .git
	// secrets are the credentials in url.
	secrets []string
}

// Name returns the owner/name of the repository at its remote origin, for instance
// gavel-evals/gavel; empty without an origin and for a local one.
func (r *Repository) Name() string {
	at, err := r.origin()
	if err != nil || at.host == "" || !strings.Contains(at.path, "/") {
		return ""
	}
	return at.path
}

func (r *Repository) origin() (remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, err := r.git.Config()
	if err != nil {
		return remote{}, fmt.Errorf("reading the repository's configuration: %w", err)
	}
	origin, ok := cfg.Remotes[git.DefaultRemoteName]
	if !ok || len(origin.URLs) == 0 {
		return remote{}, fmt.Errorf("the repository has no remote %q", git.DefaultRemoteName)
	}
	return parseRemote(origin.URLs[0], r.Root())
}

// parseRemote parses the forms that git accepts: a URL, host:path, or a path, which is
// relative to root. Schemes that run a program (ext::) and those without any protection
// (git:) are refused.
func parseRemote(raw, root string) (remote, error) {
	if strings.HasPrefix(raw, "-") {
		return remote{}, fmt.Errorf("remote %q begins with a dash", raw)
	}
	if scheme, _, ok := strings.Cut(raw, "://"); ok && !strings.Contains(scheme, ":") {
		return parseURL(raw)
	}
	host, path, ok := strings.Cut(raw, ":")
	switch {
	case ok && strings.HasPrefix(path, ":"):
		return remote{}, refused(host)
	case ok && !strings.ContainsAny(host, `/\`) && len(host) > 1: // not C:\
		_, host = cutLast(host, "@")
		return remote{scheme: "ssh", url: raw, show: host + ":" + path, host: host, path: trimPath(path)}, nil
	case !filepath.IsAbs(raw):
		raw = filepath.Join(root, raw)
	}
	return remote{scheme: fileScheme, url: raw, show: raw, path: trimPath(filepath.ToSlash(raw))}, nil
}

func parseURL(raw string) (remote, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error would quote the URL, including a credential.
		return remote{}, fmt.Errorf("the URL of remote %q is malformed", git.DefaultRemoteName)
	}
	at := remote{scheme: u.Scheme, url: raw, host: u.Hostname(), path: trimPath(u.Path)}
	if u.User != nil && u.Scheme != "ssh" {
		password, _ := u.User.Password()
		at.secrets = []string{u.User.String(), u.User.Username(), password}
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	at.show = u.String()
	switch u.Scheme {
	case "https", "http", "ssh":
		if at.host == "" || strings.HasPrefix(at.host, "-") {
			return remote{}, fmt.Errorf("remote %s names no host", at.show)
		}
	case fileScheme:
		at.host = ""
	default:
		return remote{}, refused(u.Scheme)
	}
	return at, nil
}

func refused(scheme string) error {
	return fmt.Errorf("remotes of the form %q are not fetched from; use https or ssh", scheme)
}

// redact removes the URL's credentials, and the others given, from text.
func (r remote) redact(text string, others ...string) string {
	text = strings.ReplaceAll(text, r.url, r.show)
	for _, secret := range append(others, r.secrets...) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// private reports whether an HTTP connection to the remote is encrypted or local.
func (r remote) private() bool {
	ip := net.ParseIP(r.host)
	return r.scheme == "https" || r.scheme == "http" && (r.host == "localhost" || ip != nil && ip.IsLoopback())
}

func trimPath(path string) string {
	return strings.TrimSuffix(strings.Trim(path, "/"), gitDirName)
}

// cutLast cuts s around the last sep; after is all of s if there is none.
func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return "", s
}

// Host returns the host of the remote origin without a port, such as github.com; empty
// without an origin and for a local one.
func (r *Repository) Host() string {
	at, err := r.origin()
	if err != nil {
		return ""
	}
	return at.host
}

// Branch returns the name of the current branch, even before its first commit; empty if
// HEAD is a commit.
func (r *Repository) Branch() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.git.Reference(plumbing.HEAD, false)
	if err != nil || head.Type() != plumbing.SymbolicReference {
		return ""
	}
	return head.Target().Short()
}
