package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
)

// judging says which samples the calls of a log judge: equal questions of several judgements
// of the same samples have the same replies. A further measurement asks by itself, since judges
// differ from one time to the next.
func (l *callLog) judging(subjects ...string) {
	if l.caseRun.job.Again == 0 {
		l.subject = strings.Join(subjects, " ")
	}
}

// subject identifies a sample in the questions about it.
func subject(e string, ordinal int) string { return fmt.Sprint(e, " ", ordinal) }

// subject is the subject of the sample.
func (s *sample) subject() string { return subject(s.attempt.digests.E, s.execution.Ordinal) }

// rejudged reports whether the conversation is from an earlier run, which may have judged it.
func (s *sample) rejudged() bool { return !s.fresh || s.resumed }

// question returns the question of a call with a request digest to a judge: equal ones are
// counted, since each has a reply of its own. It is empty if no other judgement may have asked
// it.
func (l *callLog) question(name, digest string) string {
	judge := ""
	if l.subject != "" {
		judge = l.caseRun.job.Digests.Judge(name)
	}
	if judge == "" {
		return ""
	}
	asked := judge + " " + digest
	l.seen[asked]++
	return fmt.Sprintf("%s %s %d", l.subject, asked, l.seen[asked])
}

// known returns the reply that another judgement of the samples got to the question of a call,
// and notes when. If there is none, the call has no time.
func (l *callLog) known(ctx context.Context, name string, call *ledger.Call) (reply target.Reply, err error) {
	if !l.rejudged {
		return reply, nil
	}
	stored, found, err := l.caseRun.runner.cfg.Ledger.Answer(ctx, l.scopeOf(name), call.Question, call.RequestDigest)
	if err != nil {
		return reply, &evaluate.Fault{Err: err}
	}
	if found && json.Unmarshal(stored.Reply, &reply) == nil {
		call.At = stored.At
		l.saved = l.saved.Add(reply.Usage)
	}
	return reply, nil
}

// scopeOf returns the entries that may be used of a judge: of the case's, the ones that the
// judge's own reuse setting does not exclude.
func (l *callLog) scopeOf(judge string) ledger.Scope {
	scope, cfg := l.caseRun.job.Scope, l.caseRun.runner.cfg
	if own := cfg.Targets[judge].Config.Reuse; own != nil {
		scope.Nothing = scope.Nothing || !own.On
		if since := cfg.Clock.Now().Add(-own.MaxAge); own.MaxAge > 0 && since.After(scope.NotBefore) {
			scope.NotBefore = since
		}
	}
	return scope
}
