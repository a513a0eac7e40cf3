package controller

import (
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// recallReplies loads base transcripts for the cases whose head transcript is shown.
// stored reads one by its execution digest, or returns nil. An error comes from stored.
func recallReplies(in *report.Input, stored func(digest string) (*verdict.Transcript, error)) error {
	for _, row := range in.Plan.Rows {
		if row.Base == nil || row.Head == nil {
			continue
		}
		head, base := in.Head[row.Head.ID()], in.Base[row.Base.ID()]
		if head == nil || head.Transcript == nil || base == nil || base.Transcript != nil {
			continue
		}
		var err error
		if base.Transcript, err = stored(row.BaseDigests.E); err != nil {
			return err
		}
	}
	return nil
}
