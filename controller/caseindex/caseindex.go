// Package caseindex keeps an index of the definitions of the testcase format in the
// PostgreSQL database of a ledger, for those who ask with SQL. Its columns have the
// types that the document of the format names: tags are TEXT[] under a GIN index, and
// persona, user_context, expected_outcomes and expected_tool_calls are JSONB.
//
// git is the source: [Replace] replaces the index of a repository as a whole, and
// Gavel reads nothing from it.
package caseindex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/schema"
)

// An Entry is one case.
type Entry struct {
	Case *schema.CaseInfo
	// Definition has the fields of the case as its file has them.
	Definition map[string]json.RawMessage
	// ID is a UUID.
	ID string
	// Created and Updated are nil where the history does not say.
	Created, Updated *time.Time
}

// A State is what the index is made from: a commit of a repository, which is
// owner/name, or empty for one without a remote.
type State struct{ Repository, Commit string }

var columns = []string{
	"repository", "key", "commit_id", "path", "line", "id", "agent_id", "source_call_id", "name", "description", "difficulty", "status", "tags",
	"persona", "initial_message", "user_context", "max_turns", "expected_outcomes", "expected_tool_calls", "evaluation_criteria_override",
	"definition", "created_at", "updated_at",
}

// Replace makes the entries the whole index of their repository, in one transaction.
// Those of other repositories stay. The error says that the ledger is not in
// PostgreSQL, which entry cannot be stored, or is the database's.
func Replace(ctx context.Context, in *ledger.Ledger, of State, entries []Entry) error {
	rows := make([][]any, len(entries))
	for i, e := range entries {
		var err error
		if rows[i], err = row(of, e); err != nil {
			return fmt.Errorf("%s: %w", e.Case.Key, err)
		}
	}
	err := in.Store().Submit(ctx, func(t *store.Tx) error {
		tx, err := postgres.Tx(t)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM test_cases WHERE repository = $1", of.Repository); err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"test_cases"}, columns, pgx.CopyFromRows(rows))
		return err
	})
	return in.Store().Fault("index the test cases", err)
}

// row has the values of the columns.
func row(of State, e Entry) ([]any, error) {
	id, err := uuid.Parse(e.ID)
	if err != nil {
		return nil, err
	}
	var said struct {
		Agent    *string  `json:"agent_id"`
		Call     *string  `json:"source_call_id"`
		About    *string  `json:"description"`
		Opening  *string  `json:"initial_message"`
		First    *string  `json:"first_message"` // as later versions call it
		Turns    *float64 `json:"max_turns"`
		Criteria *string  `json:"evaluation_criteria_override"`
	}
	whole, err := json.Marshal(e.Definition)
	if err == nil {
		err = json.Unmarshal(whole, &said)
	}
	if err != nil {
		return nil, err
	}
	if bytes.Contains(whole, []byte(`\u0000`)) {
		return nil, errors.New("it has a character 0, which PostgreSQL cannot store; remove it")
	}
	var turns *int64
	if said.Turns != nil {
		whole := int64(*said.Turns)
		turns = &whole
	}
	document := func(name string) any {
		if value := e.Definition[name]; len(value) > 0 && string(value) != "null" {
			return value
		}
		return nil
	}
	l := e.Case.Labels
	return []any{
		of.Repository, e.Case.Key, of.Commit, e.Case.Origin.File, int64(e.Case.Origin.Line), id, said.Agent, said.Call, l.Name, said.About, l.Difficulty, l.Status,
		append([]string{}, l.Tags...), document("persona"), cmp.Or(said.Opening, said.First), document("user_context"), turns, document("expected_outcomes"),
		document("expected_tool_calls"), said.Criteria, json.RawMessage(whole), e.Created, e.Updated,
	}, nil
}
