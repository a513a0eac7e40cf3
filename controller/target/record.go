package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/safefile"
)

// A Recorder collects replies and writes them as the recording of a replay
// target. It is safe for concurrent use.
type Recorder struct {
	path  string
	scrub func(string) string

	// masks cover the secrets in the replies of all targets.
	masks *redact.Masks

	mu sync.Mutex
	// lines are the lines of the file and the new ones; fresh counts the new ones. Both
	// are guarded by mu.
	lines map[recordedKey]recordedReply
	fresh int
}

type recordedKey struct {
	slot
	key string
}

// NewRecorder reads the recording at path, if there is one, and keeps all of it. It
// refuses an unreadable recording before any call is paid for. The scrub function
// removes secrets from every text that is written; nil leaves the texts unchanged.
func NewRecorder(path string, scrub func(string) string) (*Recorder, error) {
	if scrub == nil {
		scrub = func(s string) string { return s }
	}
	r := &Recorder{path: path, scrub: scrub, masks: &redact.Masks{}, lines: map[recordedKey]recordedReply{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	lines, err := readRecording(path, f)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		r.lines[recordedKey{l.slot(), l.Case}] = l
	}
	return r, nil
}

// Record takes one live reply, which replaces an older one to the same request, sample
// and occurrence of the case. The digest is the request's before its delimiter was
// inserted. Prices are not recorded: a replay uses the prices of its own day. Text that
// looks like a key is masked in a reply, and the digest is then the digest of the
// request that follows from the masked replies before it.
func (r *Recorder) Record(digest string, req Request, reply Reply) {
	// A request that is not known as a whole keeps its own digest.
	if mask := r.masks.Masker(); mask != nil && Digest(req) == digest {
		digest = Digest(redact.Apply(req, mask))
	}
	l := recordedReply{
		Request: digest, Sample: req.Sample, Occurrence: req.Occurrence, Root: req.Root,
		Reply: r.clean(reply), Case: r.scrub(req.Case), About: r.about(req),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines[recordedKey{l.slot(), l.Case}] = l
	r.fresh++
}

// clean removes from a reply its secrets, and the parts of its usage that the run adds.
func (r *Recorder) clean(reply Reply) Reply {
	reply = reply.Scrubbed(r.scrub).Scrubbed(r.masks.Text)
	reply.Usage.CostUSD, reply.Usage.Unpriced = 0, 0
	return reply
}

// about returns the beginning of a request's last message on one line. Secrets are
// removed before the end is cut off, since the cut might leave half of one.
func (r *Recorder) about(req Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	const length = 100
	m := req.Messages[len(req.Messages)-1]
	words := []rune(strings.Join(strings.Fields(redact.Text(r.scrub(strings.ReplaceAll(m.Content, Mark, "")))), " "))
	if len(words) > length {
		words = append(words[:length], '…')
	}
	return m.Role + ": " + string(words)
}

// Close writes the whole recording, sorted, so that the same replies give the same
// file. It writes nothing if nothing was recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh == 0 {
		return nil
	}
	lines := make([]recordedReply, 0, len(r.lines))
	for _, l := range r.lines {
		lines = append(lines, l)
	}
	sortRecording(lines)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("recording %s: %w", r.path, err)
		}
	}
	if err := replaceFile(r.path, out.Bytes()); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	r.fresh = 0
	return nil
}

func sortRecording(lines []recordedReply) {
	slices.SortFunc(lines, func(a, b recordedReply) int {
		return cmp.Or(
			cmp.Compare(a.Case, b.Case), cmp.Compare(a.Sample, b.Sample),
			cmp.Compare(a.Request, b.Request), cmp.Compare(a.Occurrence, b.Occurrence),
		)
	})
}

// replaceFile replaces a file atomically: a reader sees the old or the new one.
func replaceFile(path string, data []byte) error {
	return safefile.Replace(path, 0o644, func(to *os.File) error {
		_, err := to.Write(data)
		return errors.Join(err, to.Sync())
	})
}
