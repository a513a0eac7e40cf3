package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

// suites lets AgentV judge the suites, and writes a line for each.
func suites(node, modules, out string) error {
	all := oracle.Suites()
	files, err := oracle.Files(all)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	program, err := filepath.Abs(filepath.Join(modules, "agentv/dist/cli.js"))
	if err != nil {
		return err
	}
	lines := []string{oracle.SuitesHead(all)}
	for i := range all {
		rows, err := judge(node, program, dir, i)
		if err != nil {
			return err
		}
		line, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return os.WriteFile(out, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// judge runs AgentV with a suite, and returns its answers by the ids of tests.
func judge(node, program, dir string, i int) (map[string]string, error) {
	results := filepath.Join(dir, fmt.Sprintf("out%d", i))
	cmd := exec.Command(node, program, "eval", oracle.SuiteFile(i), "--output", results, "--no-results-push", "--workers", "16")
	cmd.Dir = dir
	said, failed := cmd.CombinedOutput() // it exits with 1 if a test fails
	raw, err := os.ReadFile(filepath.Join(results, "index.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("agentv: %w: %v: %.2000s", err, failed, said)
	}
	rows := map[string]string{}
	for line := range bytes.Lines(raw) {
		var r struct {
			ID     string  `json:"test_id"`
			Status string  `json:"execution_status"`
			Score  float64 `json:"score"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		rows[r.ID] = oracle.Answer(r.Status == "ok", r.Status == "execution_error", r.Score)
	}
	return rows, nil
}
