package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
	watchscreen "github.com/gavel-evals/gavel/reporters/screen"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// watchScreen shows the watch on the whole terminal until the user quits, and then
// prints a summary line.
func (c watchApp) watchScreen(ctx context.Context, tree *watchmode.Tree, f watchFlags) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var session *watchmode.Session // set once there is a screen
	root := tree.Workspace().Repo.Root()
	view := watchscreen.Open(watchscreen.Config{
		Do:     func(c reporters.WatchCommand) { session.Do(c) },
		Detail: func(key string) (reporters.WatchDetail, error) { return session.Detail(ctx, key) },
		Edit: func(file string, line int) (watchscreen.Program, error) {
			return openEditor(ctx, c.LookupEnv, filepath.Join(root, filepath.FromSlash(file)), line)
		},
	}, os.Stdin, terminal.Below(c.Stdout))
	var last reporters.WatchSnapshot
	var ignore func()
	session, ignore = c.session(tree, f, func(u reporters.WatchUpdate) {
		last = u.Snapshot
		view.Render(u)
	}, end)
	defer ignore()
	ended := make(chan error, 1)
	go func() {
		defer end(nil) // the screen ends with the watch
		defer func() {
			// The terminal must be restored before the fault is printed.
			if fault := recover(); fault != nil {
				ended <- fmt.Errorf("watch: %v", fault)
			}
		}()
		ended <- session.Run(ctx)
	}()
	interrupted, err := view.Run(ctx)
	if interrupted {
		end(errInterrupted)
	}
	end(nil) // by the key q
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.Stdout, terminal.Sentence(&last)); err != nil {
		return err
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return errInterrupted
	}
	return nil
}
