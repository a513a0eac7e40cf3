package forgetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// Transport carries requests to the forge without a network. Each takes the given time.
func (f *Forge) Transport(takes time.Duration) http.RoundTripper {
	return &local{f.handler(), takes}
}

type local struct {
	handler http.Handler
	takes   time.Duration
}

// RoundTrip answers in the caller's goroutine.
func (l *local) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	select {
	case <-time.After(l.takes):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	in := req.Clone(req.Context())
	in.Body, in.RequestURI = io.NopCloser(bytes.NewReader(body)), req.URL.RequestURI()
	said := httptest.NewRecorder()
	l.handler.ServeHTTP(said, in)
	resp := said.Result()
	resp.Request = req
	return resp, nil
}
