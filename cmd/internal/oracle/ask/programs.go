package main

import (
	"bytes"
	_ "embed" // for the programs
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

var (
	//go:embed nunjucks.js
	nunjucks string
	//go:embed cells.js
	cells string
)

// fill lets Nunjucks fill in the templates of the package oracle, and writes its texts.
func fill(node, modules, out string) error {
	templates := oracle.Templates()
	texts, err := answers(node, modules, nunjucks, map[string]any{"vars": oracle.Variables, "templates": templates})
	if err != nil {
		return fmt.Errorf("nunjucks: %w", err)
	}
	return os.WriteFile(out, append([]byte(oracle.TemplatesHead(templates)+"\n"), texts...), 0o644)
}

// readCells lets promptfoo read the cells of the package oracle, and writes what it reads.
func readCells(node, modules, out string) error {
	all := oracle.Cells()
	lines, err := answers(node, modules, cells, all)
	if err != nil {
		return fmt.Errorf("cells: %w", err)
	}
	return os.WriteFile(out, append([]byte(oracle.CellsHead(all)+"\n"), lines...), 0o644)
}

// answers returns the output of a program for an input, which it gets as JSON.
func answers(node, modules, program string, input any) ([]byte, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(modules)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, "-e", program)
	cmd.Env = append(os.Environ(), "NODE_PATH="+folder)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(raw), os.Stderr
	return cmd.Output()
}
