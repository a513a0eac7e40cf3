// Package gittest is git for tests: working trees to commit in, and a server
// that speaks the smart protocol over HTTP on loopback, in the process of the
// test.
package gittest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
)

// Serve serves the repository in a folder until the test ends, and gives the
// address that it is cloned from. With a password it asks for that.
func Serve(tb testing.TB, dir, password string) string {
	tb.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); password != "" && given != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		session, err := open(dir)
		if err == nil {
			err = answer(w, r, session)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	tb.Cleanup(srv.Close)
	return srv.URL + "/gavel-evals/gavel.git"
}

// open reads the repository anew for each request: a store is for one at a
// time, and tests change what is in it.
func open(dir string) (transport.UploadPackSession, error) {
	repo, err := git.PlainOpen(dir)
	if err != nil {
		return nil, err
	}
	endpoint, err := transport.NewEndpoint("test:///r.git")
	if err != nil {
		return nil, err
	}
	return server.NewServer(server.MapLoader{"test:///r.git": repo.Storer}).NewUploadPackSession(endpoint, nil)
}

func answer(w http.ResponseWriter, r *http.Request, session transport.UploadPackSession) error {
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		refs, err := session.AdvertisedReferencesContext(r.Context())
		if err != nil {
			return err
		}
		refs.Prefix = [][]byte{[]byte("# service=git-upload-pack"), pktline.Flush}
		return refs.Encode(w)
	}
	req := packp.NewUploadPackRequest()
	if err := req.Decode(r.Body); err != nil {
		return err
	}
	resp, err := session.UploadPack(r.Context(), req)
	if err != nil {
		return err
	}
	return resp.Encode(w)
}
