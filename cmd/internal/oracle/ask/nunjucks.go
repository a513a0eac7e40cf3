package main

import (
	"bytes"
	_ "embed" // for the program
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

//go:embed nunjucks.js
var nunjucks string

// fill lets Nunjucks fill in the templates of the package oracle, and writes its texts.
func fill(node, modules, out string) error {
	templates := oracle.Templates()
	input, err := json.Marshal(map[string]any{"vars": oracle.Variables, "templates": templates})
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(modules)
	if err != nil {
		return err
	}
	cmd := exec.Command(node, "-e", nunjucks)
	cmd.Env = append(os.Environ(), "NODE_PATH="+folder)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	texts, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("nunjucks: %w", err)
	}
	return os.WriteFile(out, append([]byte(oracle.TemplatesHead(templates)+"\n"), texts...), 0o644)
}
