package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollTime is the interval between looks at a running program. The machine's speed
// bounds what the program can do in between.
const pollTime = 20 * time.Millisecond

// A watcher observes a program until it ends, and ends it when it exceeds a limit.
//
// The scratch folder is a separate tmpfs if possible, and the kernel keeps its bound. A
// workspace's bound is kept here on every machine: the kernel could keep it
//
//   - in a tmpfs, which would take 1 GiB of memory for each program that runs. It belongs to
//     no process, so that ending the program does not free it while somebody holds the mount,
//     and the one that a full container ends is Gavel itself;
//   - by quotas of the disk, of a project or of a user. These need root in the first user
//     namespace and a file system that was mounted for them.
//
// No limit of a process bounds the sum of its files. The kernel bounds the largest file
// (RLIMIT_FSIZE), and the watcher the sum over all names of any depth, holes, and
// nameless open files. A program that hides more, for instance in files that are only
// mapped into memory, does not fill the disk: it is ended before that.
type watcher struct {
	*runningProgram
	// load counts the memory and the threads of the program.
	load func() (memory int64, processes int)
	// held counts its open nameless files.
	held func() int64

	// first is the free space on the workspace's disk at the beginning, and last at the
	// last look through the folders; -1 if unknown.
	first, last int64
	// spare is the workspace's remaining allowance at that time.
	spare int64
	// due is the time of the next look through the folders.
	due time.Time
}

// watch observes the program until ctx ends. Many files take long to count, so they are
// counted less often, unless the disk fills up meanwhile.
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

// look returns the limit that the program exceeds, as an error.
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

// room returns the free space on the workspace's disk; -1 if unknown.
func (w *watcher) room() int64 {
	if w.Workspace != "" {
		if free, known := room(w.Workspace); known {
			return free
		}
	}
	return -1
}

// fills reports whether a disk fills up while a program with an allowance runs. Other
// processes write there, too, so this only matters when the disk is nearly full.
func fills(first, free, most int64) bool {
	return first >= 0 && free >= 0 && first-free > most && free < most
}

// folders returns the limit that the program's folders exceed, as an error.
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
