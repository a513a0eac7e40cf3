//go:build amd64 || arm64

package javascript

import "github.com/gavel-evals/gavel/schema/confine/confinetest"

func init() { confineProcess = confinetest.Confine(confineProcess) }
