// Package gittest provides git for tests: working trees to commit in, and a server that
// speaks the smart protocol over HTTP on loopback, in the test's process.
package gittest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Serve serves the repository in a folder until the test ends, and returns its clone
// address. A password makes it require that password.
func Serve(tb testing.TB, dir, password string) string {
	tb.Helper()
	objects := cache.NewObjectLRUDefault()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); password != "" && given != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		err := answer(w, r, open(dir, objects))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	tb.Cleanup(srv.Close)
	return srv.URL + "/gavel-evals/gavel.git"
}

// ServeReading is [Serve] for a credential that may not push.
func ServeReading(tb testing.TB, dir string) string {
	tb.Helper()
	objects := cache.NewObjectLRUDefault()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path+r.URL.RawQuery, "git-receive-pack") {
			http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
			return
		}
		if err := answer(w, r, open(dir, objects)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	tb.Cleanup(srv.Close)
	return srv.URL + "/gavel-evals/gavel.git"
}

// endpoint is the address of the only repository.
const endpoint = "test:///r.git"

// open reads the repository again for each request: a store is not safe for concurrent
// use, and tests change the repository.
func open(dir string, objects cache.Object) *filesystem.Storage {
	own := filepath.Join(dir, git.GitDirName)
	if _, err := os.Stat(own); err != nil {
		own = dir // bare
	}
	return filesystem.NewStorage(osfs.New(own), objects)
}

func answer(w http.ResponseWriter, r *http.Request, store *filesystem.Storage) error {
	at, err := transport.NewEndpoint(endpoint)
	if err != nil {
		return err
	}
	srv := server.NewServer(server.MapLoader{endpoint: store})
	switch {
	case strings.Contains(r.URL.Path+r.URL.RawQuery, "git-receive-pack"):
		return receive(w, r, srv, at)
	case !strings.HasSuffix(r.URL.Path, "/info/refs"):
		return upload(w, r, store)
	}
	session, err := srv.NewUploadPackSession(at, nil)
	if err != nil {
		return err
	}
	return advertise(w, r, session, "git-upload-pack")
}

// upload sends the wanted objects. A session of go-git has a goroutine and a buffer for
// each piece of a pack.
func upload(w http.ResponseWriter, r *http.Request, store *filesystem.Storage) error {
	req := packp.NewUploadPackRequest()
	if err := req.Decode(r.Body); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if len(req.Shallows) > 0 {
		return errors.New("shallow clones are not served")
	}
	haves, err := revlist.Objects(store, req.Haves, nil)
	if err != nil {
		return err
	}
	objects, err := revlist.Objects(store, req.Wants, haves)
	if err != nil {
		return err
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, store, false).Encode(objects, 10); err != nil {
		return err
	}
	return packp.NewUploadPackResponseWithPackfile(req, io.NopCloser(&pack)).Encode(w)
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
