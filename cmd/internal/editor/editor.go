// Package editor starts the editor of a person, who has the terminal meanwhile.
package editor

import (
	"context"
	"io"
	"os/exec"

	"github.com/gavel-evals/gavel/reporters/screen"
)

// Open returns the program that opens a file at a line, which is the editor that
// the environment names. It returns an error where the environment names none.
func Open(ctx context.Context, lookupEnv func(string) (string, bool), file string, line int) (screen.Program, error) {
	argv, err := screen.EditorCommand(lookupEnv, file, line)
	if err != nil {
		return nil, err
	}
	return program{exec.CommandContext(ctx, argv[0], argv[1:]...)}, nil
}

// A program lets the editor have the terminal.
type program struct{ *exec.Cmd }

func (p program) SetStdin(r io.Reader)  { p.Stdin = r }
func (p program) SetStdout(w io.Writer) { p.Stdout = w }
func (p program) SetStderr(w io.Writer) { p.Stderr = w }
