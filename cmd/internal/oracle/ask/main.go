// Ask lets promptfoo judge the rows of the package oracle, and writes its answers.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

// files are written each by a function, which runs the program in the folder of modules.
var files = []struct {
	name  string
	write func(node, modules, out string) error
}{{"nunjucks.jsonl", fill}, {"cells.jsonl", readCells}, {"structures.jsonl", structures}, {"agentv.jsonl", suites}, {"graded.txt", grade}, {"promptfoo.txt", ask(oracle.Rows)}, {"words.txt", ask(oracle.WordRows)}, {"python.txt", ask(oracle.PythonRows)}}

func main() {
	modules := flag.String("modules", "node_modules", "the folder in which npm installed promptfoo and agentv")
	node := flag.String("node", "node", "the program that runs it")
	answers := flag.String("answers", "cmd/internal/oracle/answers", "the folder that gets the answers")
	only := flag.String("only", "", "the name of the one file that is written; empty for all")
	flag.Parse()
	if err := write(*node, *modules, *answers, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the files of answers, or one of them.
func write(node, modules, answers, only string) error {
	for _, file := range files {
		if only != "" && only != file.name {
			continue
		}
		if err := file.write(node, modules, filepath.Join(answers, file.name)); err != nil {
			return err
		}
	}
	return nil
}

// ask returns the function that lets promptfoo judge rows, and writes a line for each.
func ask(rows func() []oracle.Row) func(node, modules, out string) error {
	return func(node, modules, out string) error { return askRows(rows(), node, modules, out) }
}

func askRows(rows []oracle.Row, node, modules, out string) error {
	config, err := oracle.Config(rows)
	if err != nil {
		return err
	}
	raw, err := eval(node, modules, config, nil)
	if err != nil {
		return err
	}
	answers, err := read(raw, len(rows))
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(oracle.Head(config)+"\n"+strings.Join(answers, "\n")+"\n"), 0o644)
}

// structures lets promptfoo judge the structures, and writes a line for each.
func structures(node, modules, out string) error {
	all := oracle.Structures()
	lines := []string{oracle.StructuresHead(all)}
	for _, s := range all {
		config, err := json.Marshal(s.Config)
		if err != nil {
			return err
		}
		raw, err := eval(node, modules, config, s.Files)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		var got results
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
		rows := map[string][]string{}
		for _, r := range got.Results.Results {
			name := r.TestCase.Description
			rows[name] = append(rows[name], r.answer())
		}
		for _, answers := range rows {
			slices.Sort(answers)
		}
		line, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return os.WriteFile(out, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// grade lets promptfoo judge the rows that ask a model, and writes a line for each.
func grade(node, modules, out string) error {
	rows := oracle.GradedRows()
	config, err := oracle.GradedConfig(rows, "file://judge.js")
	if err != nil {
		return err
	}
	var replies []string
	for _, row := range rows {
		replies = append(replies, row.Theirs)
	}
	table, err := json.Marshal(replies)
	if err != nil {
		return err
	}
	raw, err := eval(node, modules, config, map[string]string{"judge.js": oracle.Judge, "replies.json": string(table)})
	if err != nil {
		return err
	}
	answers, err := read(raw, len(rows))
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(oracle.GradedHead(rows)+"\n"+strings.Join(answers, "\n")+"\n"), 0o644)
}

// eval runs promptfoo once, with files next to the config, and returns its results.
func eval(node, modules string, config []byte, files map[string]string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, out := filepath.Join(dir, "promptfooconfig.json"), filepath.Join(dir, "results.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	program, err := filepath.Abs(filepath.Join(modules, "promptfoo/dist/src/entrypoint.js"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, program, "eval", "-c", file, "--no-cache", "--no-write", "--no-table", "--no-progress-bar", "-o", out)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_CONFIG_DIR="+dir, "PROMPTFOO_PASS_RATE_THRESHOLD=0")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("promptfoo: %w", err)
	}
	return os.ReadFile(out)
}

// A result is what promptfoo says of a row.
type result struct {
	Success       bool
	Score         float64
	FailureReason int
	TestCase      struct{ Description string }
}

func (r result) answer() string { return oracle.Answer(r.Success, r.FailureReason == 2, r.Score) }

// results are a file of promptfoo.
type results struct {
	Results struct{ Results []result }
}

// read returns the answers of promptfoo's results, in the order of the rows.
func read(raw []byte, n int) ([]string, error) {
	var got results
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, err
	}
	answers := make([]string, n)
	for _, r := range got.Results.Results {
		var i int
		if _, err := fmt.Sscanf(r.TestCase.Description, "r%d", &i); err != nil || i >= n {
			return nil, fmt.Errorf("promptfoo has the unknown row %q", r.TestCase.Description)
		}
		answers[i] = r.answer()
	}
	for i, a := range answers {
		if a == "" {
			return nil, fmt.Errorf("promptfoo has no result of the row r%d", i)
		}
	}
	return answers, nil
}
