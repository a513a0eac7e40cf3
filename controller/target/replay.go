package target

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A recordedReply is one line of a recording.
type recordedReply struct {
	Request    string `json:"request"`
	Sample     int    `json:"sample"`
	Occurrence int    `json:"occurrence"`
	// Root is the digest of the request that the conversation began with;
	// empty in a line that was written without it.
	Root  string `json:"root,omitempty"`
	Reply Reply  `json:"reply"`
	Case  string `json:"case"`
	// About is the beginning of the request, for people who read a diff.
	About string `json:"about"`
}

// A slot is the key by which a reply is found.
type slot struct {
	request            string
	sample, occurrence int
}

func (r recordedReply) slot() slot { return slot{r.Request, r.Sample, r.Occurrence} }

// A replay answers from a recording.
type replay struct {
	base
	path string
	// replies of a slot are in the order of their cases.
	replies map[slot][]recordedReply
}

func newReplay(cfg config.Target, env Env, b base) (*replay, error) {
	if cfg.Path == "" {
		return nil, errors.New("path is not set; it names the recording")
	}
	if env.Files == nil {
		return nil, errors.New("there is no repository to read the recording from")
	}
	name := path.Clean(cfg.Path)
	f, err := env.Files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("recording %s does not exist; gavel run --record writes it: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	lines, err := readRecording(name, f)
	if err != nil {
		return nil, err
	}
	r := &replay{base: b, path: name, replies: make(map[slot][]recordedReply, len(lines))}
	sortRecording(lines)
	for _, l := range lines {
		// Every reply was one call, whatever the line says; the prices are this run's.
		u := l.Reply.Usage
		l.Reply.Usage = verdict.Usage{Calls: 1, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
		r.replies[l.slot()] = append(r.replies[l.slot()], l)
	}
	return r, nil
}

// readRecording reads all lines of a recording. The error names the file and
// the line that is wrong.
func readRecording(name string, from io.Reader) ([]recordedReply, error) {
	type identity struct {
		slot
		key string
	}
	var lines []recordedReply
	seen := map[identity]int{}
	in := bufio.NewScanner(from)
	// A line holds one reply; JSON may escape every byte of it sixfold.
	in.Buffer(make([]byte, 0, 64<<10), 6*maxReply)
	n := 0
	for in.Scan() {
		n++
		raw := bytes.TrimSpace(in.Bytes())
		if len(raw) == 0 {
			continue
		}
		var l recordedReply
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if len(l.Request) != 64 || len(l.Reply.Messages) == 0 && !l.Reply.End {
			return nil, fmt.Errorf("%s:%d: request or reply is missing", name, n)
		}
		id := identity{l.slot(), l.Case}
		if first, ok := seen[id]; ok {
			return nil, fmt.Errorf("%s:%d: the same request of case %s as in line %d", name, n, l.Case, first)
		}
		seen[id] = n
		lines = append(lines, l)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return lines, nil
}

// Respond returns the reply that was recorded for the request: the case's own, or the
// reply to another case with the same request, so that a case may be renamed. Latency
// and usage come from the recording.
func (r *replay) Respond(ctx context.Context, req Request) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, r.ended(ctx)
	}
	s := slot{Digest(req), req.Sample, req.Occurrence}
	found := r.replies[s]
	if len(found) == 0 {
		return Reply{}, r.fail(Error{Message: fmt.Sprintf(
			"%s has no reply to request %.12s of case %s (sample %d, occurrence %d); record it with gavel run --record",
			r.path, s.request, req.Case, s.sample, s.occurrence)})
	}
	i := max(slices.IndexFunc(found, func(l recordedReply) bool { return l.Case == req.Case }), 0)
	return found[i].Reply.clone(), nil
}

// clone copies a reply, so that who gets it may change it.
func (r Reply) clone() Reply {
	r.Messages, r.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	for i, m := range r.Messages {
		r.Messages[i].ToolCalls = slices.Clone(m.ToolCalls)
	}
	return r
}
