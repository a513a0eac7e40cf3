package main

import (
	"context"
	"io"
	"os/exec"

	"github.com/gavel-evals/gavel/reporters/screen"
)

// openEditor returns the program that opens a file at a line: the environment's editor.
// Without one it returns an error.
func openEditor(ctx context.Context, lookupEnv func(string) (string, bool), file string, line int) (screen.Program, error) {
	argv, err := screen.EditorCommand(lookupEnv, file, line)
	if err != nil {
		return nil, err
	}
	return editorProgram{exec.CommandContext(ctx, argv[0], argv[1:]...)}, nil
}

// An editorProgram gives the terminal to the editor.
type editorProgram struct{ *exec.Cmd }

func (p editorProgram) SetStdin(r io.Reader)  { p.Stdin = r }
func (p editorProgram) SetStdout(w io.Writer) { p.Stdout = w }
func (p editorProgram) SetStderr(w io.Writer) { p.Stderr = w }
