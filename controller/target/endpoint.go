package target

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// checkEndpoint refuses endpoints to which no request can be sent.
func checkEndpoint(key, endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		// The parser's message repeats the URL, which may hold a password.
		return fmt.Errorf("%s is not a URL", key)
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return fmt.Errorf("%s is not an http or https URL with a host", key)
	}
	return nil
}

// A redirectError is a redirect that is not followed.
type redirectError string

// Error returns the refused redirect.
func (e redirectError) Error() string { return string(e) }

// checkRedirect follows a redirect only to the place where the operator sent the
// request and the credential: the same host by the same scheme. Go turns a redirected
// POST into a GET for most statuses, which would be another request.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	switch {
	case !strings.EqualFold(from.Host, to.Host) || from.Scheme != to.Scheme:
		return redirectError(fmt.Sprintf("refused a redirect from %s://%s to %s://%s", from.Scheme, from.Host, to.Scheme, to.Host))
	case req.Method != via[0].Method:
		return redirectError(fmt.Sprintf("%s redirects without the request; name the final address in gavel.yaml", from.Host))
	case len(via) > 3:
		return redirectError(fmt.Sprintf("more than 3 redirects at %s", from.Host))
	}
	return nil
}

// fillEndpoint puts the commit and the pull request in the place of {sha} and {pr}. It
// refuses a template with a hole that there is nothing for.
func fillEndpoint(template, commit, pullRequest string) (string, error) {
	for _, hole := range []struct{ name, value, what string }{
		{"{sha}", commit, "a commit"}, {"{pr}", pullRequest, "a pull request"},
	} {
		if !strings.Contains(template, hole.name) {
			continue
		}
		if hole.value == "" {
			return "", errors.New("url_template has " + hole.name + ", but there is not " + hole.what + " to fill it with")
		}
		template = strings.ReplaceAll(template, hole.name, url.PathEscape(hole.value))
	}
	return template, nil
}

// belowEndpoint returns the address of a path at an endpoint, whose query stays.
func belowEndpoint(endpoint, path string) (string, error) {
	if err := checkEndpoint("base_url", endpoint); err != nil {
		return "", err
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	return u.JoinPath(path).String(), nil
}
