package forge

import (
	"bytes"
	"compress/flate"
	"io"
	"net/http"
	"slices"
	"sync"
)

const (
	// maxKept bounds the memory of all kept answers together.
	maxKept = 32 << 20
	// keptBeside is the memory of an answer besides its body and its address.
	keptBeside = 1 << 10
	// maxKeptBody bounds the body of a kept answer.
	maxKeptBody = 4 << 20
)

// answers keeps replies to reads with their ETags. A forge confirms an unchanged reply
// for free: it counts toward no limit.
type answers struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	byURL map[string]answer
	order []string // the oldest first
	size  int
}

// keptHeaders are the headers of a kept answer: all that is read of one, but for the forge's
// limits and its clock, which a later answer has itself.
var keptHeaders = []string{"Content-Type", "Etag", "Link", "X-Total-Count", "X-Oauth-Scopes"}

// newAnswer returns what is kept of an answer.
func newAnswer(header http.Header, body []byte) answer {
	kept := make(http.Header, len(keptHeaders))
	for _, name := range keptHeaders {
		if values, named := header[name]; named {
			kept[name] = slices.Clone(values) // all values of a response are in one piece of memory
		}
	}
	return answer{header.Get("ETag"), kept, deflate(body)}
}

// An answer is kept in little memory: lists of a forge say the same of each item.
type answer struct {
	tag    string
	header http.Header
	packed []byte
}

// memory returns the bytes that an answer takes.
func (a answer) memory(url string) int { return len(a.packed) + len(url) + keptBeside }

// body returns the body of an answer.
func (a answer) body() ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(a.packed)))
}

// writers are the compressors that nobody uses. Each takes more than a megabyte.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}}

// deflate compresses a body.
func deflate(body []byte) []byte {
	w := writers.Get().(*flate.Writer)
	var out bytes.Buffer
	defer func() {
		w.Reset(io.Discard) // it keeps no answer
		writers.Put(w)
	}()
	w.Reset(&out)
	// Nothing that is written to memory fails.
	_, _ = w.Write(body)
	_ = w.Close()
	return bytes.Clone(out.Bytes()) // which grew beyond what it holds
}

func newAnswers() *answers { return &answers{byURL: map[string]answer{}} }

func (a *answers) get(url string) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.byURL[url]
	return known, ok
}

// put keeps an answer, and drops the oldest ones beyond the bound.
func (a *answers) put(url string, now answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, ok := a.byURL[url]
	if !ok {
		a.order = append(a.order, url)
	}
	a.byURL[url] = now
	a.size += now.memory(url)
	if ok {
		a.size -= before.memory(url)
	}
	for a.size > maxKept {
		oldest := a.order[0]
		a.order = a.order[1:]
		a.size -= a.byURL[oldest].memory(oldest)
		delete(a.byURL, oldest)
	}
}

// conditional sends a request. A repeated read carries the kept ETag, and the kept
// answer is returned if nothing changed. A request with its own ETag is left alone.
func (t *transport) conditional(req *http.Request, body []byte, token Token) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" {
		return t.send(req, body, token)
	}
	url := req.URL.String()
	known, ok := t.known.get(url)
	if ok {
		asked := req.Clone(req.Context())
		asked.Header.Set("If-None-Match", known.tag)
		req = asked
	}
	resp, err := t.send(req, body, token)
	if err != nil {
		return nil, err
	}
	switch {
	case ok && resp.StatusCode == http.StatusNotModified:
		// The forge's limits are current, whatever the body is.
		for name, values := range known.header {
			if _, news := resp.Header[name]; !news {
				resp.Header[name] = values
			}
		}
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		data, err := known.body()
		if err != nil {
			return nil, err
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	case resp.StatusCode == http.StatusOK:
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(data))
		if resp.Header.Get("ETag") != "" && len(data) <= maxKeptBody {
			t.known.put(url, newAnswer(resp.Header, data))
		}
	}
	return resp, nil
}
