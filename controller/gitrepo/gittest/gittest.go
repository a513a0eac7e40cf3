// Package gittest is git for tests: working trees to commit in, and a server
// that speaks the smart protocol over HTTP on loopback, in the process of the
// test.
package gittest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/gavel-evals/gavel/controller/gitrepo/gitfiles"
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
		err := answer(w, r, dir)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	tb.Cleanup(srv.Close)
	return srv.URL + "/gavel-evals/gavel.git"
}

// endpoint is where the one repository is.
const endpoint = "test:///r.git"

// open reads the repository again for each request: a store is for one at a
// time, and tests change what is in it.
func open(dir string) (transport.Transport, *transport.Endpoint, error) {
	own := filepath.Join(dir, git.GitDirName)
	if _, err := os.Stat(own); err != nil {
		own = dir // it is bare
	}
	store := filesystem.NewStorage(gitfiles.New(own), cache.NewObjectLRUDefault())
	at, err := transport.NewEndpoint(endpoint)
	return server.NewServer(server.MapLoader{endpoint: store}), at, err
}

func answer(w http.ResponseWriter, r *http.Request, dir string) error {
	srv, at, err := open(dir)
	if err != nil {
		return err
	}
	if strings.Contains(r.URL.Path+r.URL.RawQuery, "git-receive-pack") {
		return receive(w, r, srv, at)
	}
	session, err := srv.NewUploadPackSession(at, nil)
	if err != nil {
		return err
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		return advertise(w, r, session, "git-upload-pack")
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

// advertise lists the refs.
func advertise(w http.ResponseWriter, r *http.Request, session transport.Session, service string) error {
	refs, err := session.AdvertisedReferencesContext(r.Context())
	if err != nil {
		return err
	}
	refs.Prefix = [][]byte{[]byte("# service=" + service), pktline.Flush}
	return refs.Encode(w)
}

// receive takes a push.
func receive(w http.ResponseWriter, r *http.Request, srv transport.Transport, at *transport.Endpoint) error {
	session, err := srv.NewReceivePackSession(at, nil)
	if err != nil {
		return err
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		return advertise(w, r, session, "git-receive-pack")
	}
	req := packp.NewReferenceUpdateRequest()
	if err := req.Decode(r.Body); err != nil {
		return err
	}
	status, err := session.ReceivePack(r.Context(), req)
	if status == nil {
		return err
	}
	return status.Encode(w)
}
