// Ask lets promptfoo judge the rows of the package oracle, and writes its answers.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

func main() {
	modules := flag.String("modules", "node_modules", "the folder in which npm installed promptfoo")
	node := flag.String("node", "node", "the program that runs it")
	answers := flag.String("answers", "cmd/internal/oracle/answers", "the folder that gets the answers")
	flag.Parse()
	err := fill(*node, *modules, filepath.Join(*answers, "nunjucks.jsonl"))
	if err == nil {
		err = ask(*node, *modules, filepath.Join(*answers, "promptfoo.txt"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ask runs promptfoo once and writes a line for each row.
func ask(node, modules, out string) error {
	rows := oracle.Rows()
	config, err := oracle.Config(rows)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, results := filepath.Join(dir, "promptfooconfig.json"), filepath.Join(dir, "results.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	program, err := filepath.Abs(filepath.Join(modules, "promptfoo/dist/src/entrypoint.js"))
	if err != nil {
		return err
	}
	cmd := exec.Command(node, program, "eval", "-c", file, "--no-cache", "--no-write", "--no-table", "--no-progress-bar", "-o", results)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_CONFIG_DIR="+dir, "PROMPTFOO_PASS_RATE_THRESHOLD=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("promptfoo: %w", err)
	}
	raw, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	answers, err := read(raw, len(rows))
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(oracle.Head(config)+"\n"+strings.Join(answers, "\n")+"\n"), 0o644)
}

// read returns the answers of promptfoo's results, in the order of the rows.
func read(raw []byte, n int) ([]string, error) {
	var got struct {
		Results struct {
			Results []struct {
				Success       bool
				Score         float64
				FailureReason int
				TestCase      struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, err
	}
	answers := make([]string, n)
	for _, r := range got.Results.Results {
		var i int
		if _, err := fmt.Sscanf(r.TestCase.Description, "r%d", &i); err != nil || i >= n {
			return nil, fmt.Errorf("promptfoo has the unknown row %q", r.TestCase.Description)
		}
		answers[i] = oracle.Answer(r.Success, r.FailureReason == 2, r.Score)
	}
	for i, a := range answers {
		if a == "" {
			return nil, fmt.Errorf("promptfoo has no result of the row r%d", i)
		}
	}
	return answers, nil
}
