package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
)

// A servingHost is the server's description of itself for a child: its working folder,
// and the operator's file.
type servingHost struct {
	Dir, File string
	Data      []byte
	Judge     bool // in its own process
}

// judgeApart judges a commit in a child as this server would.
func (s *server) judgeApart(ctx context.Context, job crashguard.Job, fetched func()) (outcome crashguard.Outcome, err error) {
	if s.database != "" {
		job.Ledger = s.database // goes over a pipe, as the token does
	}
	if job.Host, err = json.Marshal(servingHost{s.Dir, s.path, s.now.Load().data, s.here}); err != nil {
		return crashguard.Outcome{}, fmt.Errorf("judge %.12s in a child: %w", job.Subject.Head, err)
	}
	return crashguard.Run(ctx, job, fetched)
}

// JudgeApart judges a commit in a server's child. Its output is not read.
func JudgeApart(ctx context.Context, job crashguard.Job, steps crashguard.Steps) (run string, err error) {
	var host servingHost
	if err := json.Unmarshal(job.Host, &host); err != nil {
		return "", fmt.Errorf("read what the server says of itself: %w", err)
	}
	a := &App{
		Stdout: io.Discard, Stderr: io.Discard, LookupEnv: os.LookupEnv, Dir: host.Dir,
		Breakers: &limit.Breakers{}, Secrets: &redact.Values{},
	}
	now, problems := newSetting(a, host.File, host.Data)
	if now == nil {
		return "", fmt.Errorf("%s is invalid: %v", host.File, problems)
	}
	s := &server{App: a, path: host.File, database: job.Ledger, here: host.Judge}
	s.now.Store(now)
	end, err := s.queued(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	return crashguard.Examine(ctx, job, crashguard.Judging{Making: s.making(), Execute: s.execute}, steps)
}
