package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A rule forbids imports. A folder stands for the packages in it and below it.
type rule struct {
	// in are the folders for which the rule holds; with none it holds everywhere.
	in []string
	// except are the folders within those for which it does not.
	except []string
	// never are the folders of this module, or the other packages, that are
	// not imported.
	never []string
	// reason says why.
	reason string
}

// rules are the directions of the tree, from the bottom to the top, and then the
// libraries that have one home.
var rules = []rule{
	{in: []string{"schema"}, never: []string{"controller", "reporters", "cmd"}, reason: "schema is what everything rests on"},
	{in: []string{"controller", "reporters"}, never: []string{"cmd"}, reason: "commands wire the rest, and nothing depends on them"},
	{
		in:     []string{"controller/verdict", "controller/stats", "controller/confirm", "controller/plan", "controller/report"},
		never:  []string{"controller/ledger", "controller/gitrepo", "controller/forge", "controller/target", "controller/evaluate", "controller/run", "net/http", "database/sql"},
		reason: "what is affected, what a verdict is and what a gate says are pure functions of values",
	},
	{in: []string{"controller/config"}, except: []string{"controller/config/configfile"}, never: []string{"controller/ledger", "controller/gitrepo", "controller/forge", "controller/evaluate", "controller/run"}, reason: "settings are values, and open nothing"},
	{
		in: []string{"controller/target", "controller/evaluate", "controller/ledger", "controller/run", "controller/queue"}, except: []string{"controller/target/httpagent", "controller/config"},
		never:  []string{"controller/gitrepo", "controller/forge", "controller/report", "controller/review", "reporters"},
		reason: "a case is judged and stored the same way from every door",
	},
	{in: []string{"controller/gitrepo", "controller/forge", "controller/filewatch", "controller/safefile"}, never: []string{"controller/plan", "controller/verdict", "controller/report", "controller/ledger"}, reason: "they read git, forges and files, and know no cases"},
	{in: []string{"reporters"}, never: []string{"controller/ledger", "controller/run", "controller/target", "controller/gitrepo", "controller/forge"}, reason: "a report is rendered from its values alone"},
	{in: []string{"controller/dashboard"}, never: []string{"controller/run", "controller/target", "controller/evaluate", "controller/gitrepo", "controller/forge"}, reason: "the pages show what is stored, and run nothing"},

	{except: []string{"schema", "cmd/internal/pages"}, never: []string{"cuelang.org/go"}, reason: "only schema knows what CUE hides in its contexts and errors"},
	{except: []string{"schema/javascript/interpreter"}, never: []string{"modernc.org/libquickjs", "modernc.org/quickjs"}, reason: "JavaScript of strangers runs only in a child that can do nothing but compute"},
	{except: []string{"controller/gitrepo"}, never: []string{"github.com/go-git"}, reason: "nothing else may check out, follow a link or lock a store"},
	{except: []string{"controller/ledger", "controller/queue", "controller/evaluate/sqlexec"}, never: []string{"database/sql", "modernc.org/sqlite", "github.com/riverqueue"}, reason: "storage is one place, and SQL of strangers another"},
	{except: []string{"controller/forge", "reporters/comment"}, never: []string{"github.com/google/go-github", "github.com/golang-jwt/jwt"}, reason: "limits, payloads and credentials of a forge are handled in one place"},
	{except: []string{"controller/forge/forgetest"}, never: []string{"code.gitea.io/sdk"}, reason: "only the fake forge of the tests is held against it"},
	{except: []string{"cmd"}, never: []string{"github.com/rs/zerolog", "github.com/spf13"}, reason: "logs pass one place that takes secrets out, and flags are read in one place"},
	{
		except: []string{"cmd", "examples/research", "schema/childpool", "schema/confine/confinetest", "controller/target", "controller/evaluate", "controller/serve/crashguard", "controller/gitrepo/gittest", "controller/ledger/postgrestest", "controller/dashboard/browsertest"},
		never:  []string{"os/exec", "github.com/chromedp"}, reason: "every program that is started needs a limit and a trust decision",
	},
}

// checkLayers finds the imports that a rule forbids. Tests may import what they
// set something up with.
func checkLayers(files []source) []finding {
	var found []finding
	for _, f := range files {
		if f.test() {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser accepts only quoted paths
			}
			if reason := forbidden(f.dir, imported); reason != "" {
				found = append(found, finding{f.path, f.line(spec.Pos()), fmt.Sprintf("%s imports %s: %s", f.dir, imported, reason)})
			}
		}
	}
	return found
}

// forbidden returns the reason why a package may not import another, or nothing.
func forbidden(dir, imported string) string {
	imported = strings.TrimPrefix(imported, module+"/")
	for _, r := range rules {
		if (len(r.in) == 0 || isWithinAny(dir, r.in)) && !isWithinAny(dir, r.except) && isWithinAny(imported, r.never) {
			return r.reason
		}
	}
	return ""
}

func isWithinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isWithin(path, dir) })
}

// isWithin reports whether path is dir or in it.
func isWithin(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
