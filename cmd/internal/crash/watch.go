package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// watch kills gavel watch while it compares a working tree with a commit.
func (t *trial) watch(ctx context.Context) error {
	want, err := t.changed(ctx)
	if err != nil {
		return err
	}
	p := t.place("watch")
	p.line, p.lasts = []string{"watch", "--json", "--yes"}, true
	p.env = append(p.env, "CI=") // watch refuses to wait in CI, where nobody saves files
	p.change()
	p.finish = p.watched
	return p.roughly(ctx, want, ofBothSides)
}

// watched lets a watch come to a result, and returns its verdicts.
func (p *fixture) watched(ctx context.Context) (map[string]caseVerdict, error) {
	cmd, problems := p.command(ctx, p.line...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	var verdicts map[string]caseVerdict
	for events := json.NewDecoder(out); ; {
		var event struct {
			Event  string
			Report json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			break // it has ended
		}
		if event.Event != "result" || verdicts != nil {
			continue
		}
		if verdicts, err = readReport(event.Report); err != nil {
			return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return nil, err
		}
	}
	if err := cmd.Wait(); verdicts == nil {
		return nil, fmt.Errorf("gavel watch ended without a result: %w: %s", err, problems)
	}
	return verdicts, nil
}
