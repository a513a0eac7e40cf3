package config

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/constraint"
)

// Read reads a gavel.yaml from a state of the repository, and what the
// team demands of its definitions there. Where there is no such file it gives
// the defaults and false.
func Read(fsys fs.FS, file string) (cfg *Config, problems []schema.Problem, found bool, err error) {
	data, err := schema.ReadFile(fsys, file, int64(schema.Limit(file)))
	large, isLarge := schema.TooLarge(file, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cfg = Default()
	case isLarge:
		cfg, problems, found = Default(), []schema.Problem{large}, true
	case err != nil:
		return nil, nil, false, fmt.Errorf("read %s: %w", file, err)
	default:
		cfg, problems = Parse(file, data)
		found = true
	}
	cfg.Constrain(constraint.Read(fsys, cfg.Definitions))
	return cfg, problems, found, nil
}
