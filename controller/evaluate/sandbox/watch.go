package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollTime is how often a running program is looked at. The speed of the
// machine bounds what it can do in between.
const pollTime = 20 * time.Millisecond

// A watcher looks at a program until it ends, and ends it when it passes a limit.
//
// The scratch folder is a tmpfs of its own wherever that can be had, and the kernel keeps its
// bound. That of a workspace is kept here, whatever the machine: the kernel could keep it
//   - in a tmpfs, which would take 1 GiB of memory for each program that runs. It belongs to
//     no process, so that ending the program does not free it while somebody holds the mount,
//     and the one that a full container ends is Gavel itself;
//   - by quotas of the disk, of a project or of a user. These need root in the first user
//     namespace and a file system that was mounted for them.
//
// No limit of a process bounds the sum of its files. The kernel keeps the largest file
// (RLIMIT_FSIZE), and the watcher the sum: of all names, however deep they are, of holes, and
// of what has no name any more but is open. A program that hides more, for instance in files
// that are mapped into memory only, does not fill the disk: it is ended before that.
type watcher struct {
	*runningProgram
	// load counts the memory and the threads of the program.
	load func() (memory int64, processes int)
	// held counts what it has open that has no name any more.
	held func() int64

	// first is how much was free on the disk of the workspace at the beginning, and last
	// when the folders were looked through; -1 where that is not known.
	first, last int64
	// spare is what the workspace may still take, as it was then.
	spare int64
	// due is when the folders are looked through again.
	due time.Time
}

// watch looks at the program until ctx ends. Many files take long to count, and are counted
// less often, unless the disk is filled meanwhile.
func (w *watcher) watch(ctx context.Context) {
	w.first = w.room()
	w.last = w.first
	tick := time.NewTimer(pollTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		if err := w.look(ctx); err != nil {
			w.stop(err)
		}
		tick.Reset(max(pollTime, time.Since(begun)))
	}
}

// look returns what is wrong with the program.
func (w *watcher) look(ctx context.Context) error {
	memory, processes := w.load()
	switch l := w.Limits; {
	case processes > l.Processes:
		return fmt.Errorf("it had more than %d processes and threads at once", l.Processes)
	case memory > l.Memory:
		return fmt.Errorf("it used more than %s of memory", size(l.Memory))
	}
	free := w.room()
	if fills(w.first, free, w.Limits.Workspace) {
		return fmt.Errorf("the disk of its workspace has %s left, and had %s when it began", size(free), size(w.first))
	}
	begun := time.Now()
	if begun.Before(w.due) && w.last-free <= w.spare {
		return nil
	}
	err := w.folders(ctx)
	w.last, w.due = free, time.Now().Add(2*time.Since(begun))
	return err
}

// room is what is free on the disk of the workspace; -1 where that is not known.
func (w *watcher) room() int64 {
	if w.Workspace != "" {
		if free, known := room(w.Workspace); known {
			return free
		}
	}
	return -1
}

// fills reports whether a disk is filled while a program runs that may take a part of it.
// Others write there, too, so that this is of no concern before the disk is nearly full.
func fills(first, free, most int64) bool {
	return first >= 0 && free >= 0 && first-free > most && free < most
}

// folders returns what is wrong with the folders that the program writes.
func (w *watcher) folders(ctx context.Context) error {
	l, held := w.Limits, w.held()
	bytes, err := folderSize(ctx, w.scratch, Bounds{Depth: maxDepth, Files: l.Files})
	if w.Workspace == "" {
		bytes += held
	}
	switch {
	case err != nil:
		return fmt.Errorf("in its scratch folder %w", err)
	case bytes > l.Disk:
		return fmt.Errorf("it wrote more than %s into its scratch folder", size(l.Disk))
	case w.Workspace == "":
		return nil
	}
	within := WorkspaceBounds()
	within.Files, within.Bytes = l.WorkspaceFiles, l.Workspace
	bytes, err = folderSize(ctx, w.Workspace, within)
	w.spare = l.Workspace - bytes - held
	var passed *Exceeded
	switch {
	case errors.As(err, &passed):
		return fmt.Errorf("in its workspace %w", err)
	case w.spare < 0:
		return fmt.Errorf("there is more than %s in its workspace, with what it deleted and has open", size(l.Workspace))
	}
	return err
}
