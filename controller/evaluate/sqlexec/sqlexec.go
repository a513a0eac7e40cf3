// Package sqlexec runs a model's SQL on a repository's database. Neither is trusted.
//
// Most callers want [Query]; main and TestMain call [ServeChild] first. Parse analyses
// a statement without running it.
//
// Every query runs in a child process of the same program. In the process itself, time
// and rights could be bounded (a deadline, the authoriser, the limits), but not memory:
// SQLite's only bound on it applies to the whole process and would limit the ledger
// too, while a statement within all other limits sorted a gigabyte within a second when
// tried. A .sqlite file is also untrusted input to translated C code, whose faults end
// only the child. The child keeps the database in memory, gets an empty environment,
// and is killed at its deadline. The kernel allows it only to compute (package
// confine).
package sqlexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
)

const (
	// MaxRows bounds the counted rows of a result.
	MaxRows = 10_000
	// maxDatabase bounds the files of a database, together and in bytes.
	maxDatabase = 32 << 20
	// maxStatement bounds a statement in bytes.
	maxStatement = 64 << 10
	// buildTime and queryTime bound the child's work, in processor time. maxTime bounds
	// how long it takes, with its start, on a machine that is busy with other things.
	buildTime = 10 * time.Second
	queryTime = 5 * time.Second
	maxTime   = 10*time.Second + 8*(buildTime+queryTime)

	childArg = "sqlexec-child"
	childEnv = "GAVEL_SQLEXEC_CHILD"
)

// A Result is the result of a statement.
type Result struct {
	// Columns are the names of the result's columns in order.
	Columns []string `json:"columns"`
	// Rows counts the rows, at most MaxRows; More is true when there were more.
	Rows int  `json:"rows"`
	More bool `json:"more"`
	// Refused is the reason why the statement gave no result: it is malformed,
	// forbidden, or took too long. It is empty if the statement ran.
	Refused string `json:"refused"`
}

type request struct {
	Files     []schema.File `json:"files"`
	Statement string        `json:"statement"`
	// Within bounds the run of the statement.
	Within time.Duration `json:"within"`
}

type response struct {
	Result
	// Error is the reason why the database could not be built.
	Error string `json:"error"`
}

// Query builds a database from the files, one .sqlite or .db file or .sql scripts in
// their order, and runs one read-only statement on it. ILIKE is run as LIKE. The result
// has the statement's mistakes; an error is about the database or the child process.
func Query(ctx context.Context, files []schema.File, statement string) (Result, error) {
	return ask(ctx, request{files, readable(statement), queryTime})
}

func ask(ctx context.Context, req request) (Result, error) {
	if refused := refuse(req.Statement); refused != "" {
		return Result{Refused: refused}, nil
	}
	size := 0
	for _, f := range req.Files {
		size += len(f.Data)
	}
	switch {
	case len(req.Files) == 0:
		return Result{}, errors.New("query: no database is given")
	case size > maxDatabase:
		return Result{}, fmt.Errorf("query: the database has %d bytes, more than %d", size, maxDatabase)
	}
	input, err := json.Marshal(req)
	if err != nil {
		return Result{}, fmt.Errorf("query: %w", err)
	}
	out, err := runChild(ctx, input)
	if err != nil {
		return Result{}, fmt.Errorf("query: %w", err)
	}
	if out.Error != "" {
		return Result{}, errors.New(out.Error)
	}
	return out.Result, nil
}

// refuse returns the reason why a statement is not even sent to the database.
func refuse(statement string) string {
	switch st := Parse(statement); {
	case len(statement) > maxStatement:
		return fmt.Sprintf("the statement is longer than %d bytes", maxStatement)
	case strings.ContainsRune(statement, 0):
		return "the statement contains a NUL character"
	case st.Count == 0:
		return "there is no statement"
	case st.Count > 1:
		return "there is more than one statement"
	}
	return ""
}

func runChild(ctx context.Context, input []byte) (response, error) {
	if os.Getenv(childEnv) != "" {
		return response{}, errors.New("a child does not start another; main or TestMain must call sqlexec.ServeChild first")
	}
	program, err := os.Executable()
	if err != nil {
		return response{}, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var stdout, stderr limitedBuffer
	cmd := exec.CommandContext(ctx, program, childArg)
	// Built with -race, a program would wait for a second at its end. A confined child
	// has no time zones, and other children must find the same rows.
	cmd.Env = []string{childEnv + "=1", "TZ=UTC", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	cmd.WaitDelay = time.Second
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return response{}, err
	}
	var out response
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || runErr != nil {
		return response{}, fmt.Errorf("the child process gave no result (%v): %s", errors.Join(runErr, err), firstLine(stderr.String()))
	}
	return out, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// A limitedBuffer keeps the first MiB of its input.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	const most = 1 << 20
	b.Buffer.Write(p[:min(len(p), max(0, most-b.Len()))])
	return len(p), nil
}
