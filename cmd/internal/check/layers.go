package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A room is a folder of packages with the other rooms that it may import. All
// dependencies point down this way; what a room may not see it cannot come to
// rely on.
type room struct {
	dir string
	// alone means that folders below dir are rooms of their own.
	alone bool
	// sees are the rooms that may be imported; "*" means every one.
	sees []string
	// reason says why no more.
	reason string
}

// rooms are sorted from the bottom to the top. Packages of one room may import each
// other.
var rooms = []room{
	{dir: "schema", reason: "it is the leaf that everything rests on"},
	{dir: "controller/verdict", sees: []string{"schema"}, reason: "a verdict follows from samples and rules alone"},
	{dir: "controller/plan", sees: []string{"schema", "controller/verdict"}, reason: "planning is pure: it is told what changed and what is stored"},
	{dir: "controller/tracing", reason: "it knows ids and times, and nothing of what is traced"},
	{dir: "controller/safefile", reason: "it knows paths, and nothing of what files say"},
	{dir: "controller/crowd", reason: "it knows connections and addresses, and nothing of what is asked"},
	{dir: "controller/backoff", reason: "it knows times, and nothing of what failed"},
	{dir: "controller/stats", reason: "its formulas take numbers, so that they can be checked against books"},
	{dir: "controller/confirm", sees: []string{"controller/verdict", "controller/stats"}, reason: "what is a regression follows from outcomes alone, so that a simulation can make them up"},
	{dir: "controller/target/httpagent", reason: "a form of requests and replies is JSON; sending it is the target's"},
	{dir: "controller/target/preset", reason: "it is a table"},
	{dir: "controller/config", sees: []string{"schema", "controller/target/httpagent", "controller/target/preset"}, reason: "settings are values; they open nothing"},
	{dir: "controller/choice", sees: []string{"schema"}, reason: "which cases are asked for follows from what they are called"},
	{dir: "controller/requirement", sees: []string{"schema", "controller/config"}, reason: "what is missing follows from settings and needs; it opens no target"},
	{dir: "controller/gitrepo/history", reason: "it makes repositories and reads none"},
	{dir: "controller/gitrepo", sees: []string{"schema"}, reason: "it reads git and knows nothing of cases"},
	{dir: "controller/source", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/config", "controller/gitrepo"}, reason: "it reads what a target is built from, and runs nothing"},
	{dir: "controller/snapshot", sees: []string{"schema", "controller/gitrepo", "controller/safefile"}, reason: "it remembers what files say, and knows no verdict"},
	{dir: "controller/filewatch", reason: "it tells that something happened to files, and nothing of what they mean"},
	{dir: "controller/reconcile", sees: []string{"controller/backoff"}, reason: "it knows keys, and nothing of their meaning"},
	{dir: "controller/forge", sees: []string{"schema", "controller/backoff"}, reason: "it reads a forge and knows nothing of cases"},
	{dir: "controller/evaluate/sandbox", sees: []string{"schema"}, reason: "it runs programs and knows nothing of what they are for"},
	{dir: "controller/workspaces", sees: []string{"schema", "controller/gitrepo", "controller/evaluate/sandbox"}, reason: "it makes folders and says what changed in them, and knows nothing of verdicts"},
	{dir: "controller/redact", reason: "it takes a text as text, and knows nothing of where it comes from"},
	{dir: "controller/target/provider", reason: "a wire format is JSON; sending it, and what an error means, are the target's"},
	{dir: "controller/target", sees: []string{"schema", "controller/verdict", "controller/config", "controller/redact", "controller/evaluate/sandbox", "controller/workspaces", "controller/target/provider", "controller/target/httpagent", "controller/safefile"}, reason: "a target answers and judges nothing"},
	{dir: "controller/evaluate", sees: []string{"schema", "controller/verdict", "controller/target", "controller/evaluate/sandbox", "controller/workspaces"}, reason: "an evaluator measures and decides nothing"},
	{dir: "controller/ledger", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/safefile"}, reason: "it stores what it is given and starts nothing"},
	{dir: "reporters/textfmt", reason: "it formats numbers and foreign text, for results as for renderings"},
	{
		dir: "controller/report", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/stats", "controller/confirm", "reporters/textfmt"},
		reason: "results follow from a plan and outcomes alone; how they are rendered is the reporters'",
	},
	{dir: "controller/casehistory", sees: []string{"schema", "controller/verdict", "controller/plan"}, reason: "it reads reports that it is given, and opens no ledger"},
	{
		dir: "reporters/comment", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/report", "reporters/textfmt", "reporters"},
		reason: "a comment is rendered from a report alone",
	},
	{
		dir: "reporters", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/report", "controller/casehistory", "reporters/textfmt", "reporters/comment", "controller/safefile"},
		reason: "they render a report, and work no result out",
	},
	{
		dir: "controller/run", sees: []string{
			"schema", "controller/verdict", "controller/plan", "controller/backoff", "controller/stats",
			"controller/config", "controller/target", "controller/evaluate", "controller/workspaces", "controller/ledger", "controller/tracing",
		},
		reason: "a run does the same from every door, so it knows neither git nor forge nor report",
	},
	{dir: "controller/queue", sees: []string{
		"controller/verdict", "controller/plan", "controller/backoff", "controller/ledger", "controller/tracing", "controller/run",
	}, reason: "it brings cases to workers and outcomes back, and knows neither their text nor where it is"},
	{dir: "controller/estimate", sees: []string{
		"schema", "controller/plan", "controller/config", "controller/ledger", "controller/run",
	}, reason: "it counts calls before they are made, and makes none"},
	{dir: "controller/facts", sees: []string{
		"schema", "controller/workspaces", "controller/plan", "controller/config", "controller/target", "controller/run",
	}, reason: "it says what a target is, and asks none"},
	{dir: "controller/remeasure", sees: []string{
		"schema", "controller/verdict", "controller/plan", "controller/config", "controller/ledger", "controller/run", "controller/estimate", "controller/confirm", "controller/report",
	}, reason: "it asks for measurements and is told of outcomes; who measures is the pipeline's"},
	{dir: "controller/flakiness", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/ledger", "controller/report"}, reason: "what is flaky follows from what is stored; nobody is asked"},
	{dir: "controller/nightly", sees: []string{
		"controller/verdict", "controller/plan", "controller/config", "controller/ledger", "controller/run", "controller/estimate", "controller/confirm", "controller/report",
	}, reason: "it knows how often a case was measured; who measures is the pipeline's"},
	{dir: "controller/configchange", sees: []string{"controller/config", "controller/report"}, reason: "it puts settings into the words of reports"},
	{dir: "controller/replies", sees: []string{"controller/verdict", "controller/report"}, reason: "it knows which replies a report shows, and not where they are stored"},
	{dir: "controller/samples", sees: []string{"schema", "controller/verdict", "controller/plan", "controller/ledger", "controller/report"}, reason: "it judges what is stored again, by the same rules, and asks nobody"},
	{dir: "controller/ownfolder", sees: []string{"controller/gitrepo", "controller/safefile"}, reason: "it makes one folder, and knows nothing of what is kept there"},
	{dir: "controller/invocation", sees: []string{"controller/ledger"}, reason: "it knows when somebody began to ask, and nothing of the answers"},
	{dir: "controller/deployment", sees: []string{
		"schema", "controller/plan", "controller/config", "controller/report", "reporters/textfmt",
	}, reason: "its notices follow from rows and stored outcomes; it asks no agent"},
	{dir: "controller/progress", sees: []string{"controller/verdict", "controller/run", "reporters/textfmt"}, reason: "it is a count that goes up, for whoever shows it"},
	{dir: "controller", alone: true, sees: []string{
		"schema", "controller/verdict", "controller/progress", "controller/plan", "controller/config", "controller/choice", "controller/requirement", "controller/gitrepo",
		"controller/source", "controller/snapshot", "controller/filewatch", "controller/forge", "controller/target", "controller/evaluate", "controller/ledger", "controller/redact", "controller/run", "controller/estimate", "controller/confirm", "controller/facts", "controller/flakiness", "controller/remeasure", "controller/nightly", "controller/configchange", "controller/replies", "controller/samples", "controller/report", "controller/invocation", "controller/deployment",
	}, reason: "it is the pipeline below every command"},
	{dir: "controller/commits", sees: []string{
		"controller/plan", "controller/config", "controller/gitrepo", "controller/ledger", "controller",
	}, reason: "it is the pipeline over what git has"},
	{dir: "controller/rehearsal", sees: []string{
		"controller/verdict", "controller/progress", "controller/plan", "controller/config", "controller/target", "controller/ledger", "controller/confirm", "controller/report", "controller",
	}, reason: "it plays both sides and the model, and decides nothing"},
	{dir: "controller/watchmode", sees: []string{
		"schema", "controller/verdict", "controller/plan", "controller/config", "controller/gitrepo",
		"controller/source", "controller/filewatch", "controller/ledger", "controller/run", "controller/progress", "controller", "controller/report", "reporters/textfmt", "reporters",
	}, reason: "it drives the pipeline over a working tree and shows nothing itself"},
	{dir: "controller/caseindex", sees: []string{"schema", "controller/ledger"}, reason: "it stores what it is given, and knows neither files nor git"},
	{dir: "controller/explain", sees: []string{
		"schema", "controller/choice", "controller/verdict", "controller/plan", "controller/gitrepo", "controller/target", "controller/ledger", "controller/report", "reporters/textfmt", "reporters",
	}, reason: "it tells what is stored of one case, and when it was written, and runs nothing"},
	{dir: "controller/command", sees: []string{"schema", "controller/forge", "controller/ledger", "controller/redact", "controller/report", "reporters", "reporters/comment"}, reason: "it reads what people ask for, and runs nothing"},
	{dir: "controller/review", sees: []string{
		"schema", "controller/verdict", "controller/plan", "controller/config", "controller/gitrepo", "controller/forge", "controller/ledger", "controller/command", "controller", "controller/commits", "controller/configchange", "controller/progress", "controller/report", "reporters", "reporters/comment", "reporters/textfmt", "controller/tracing",
	}, reason: "it brings the pipeline and a forge together, and nothing below knows of both"},
	{dir: "controller/worker", sees: []string{
		"schema", "controller/verdict", "controller/plan", "controller/config", "controller/gitrepo", "controller/forge", "controller/ledger", "controller/run", "controller/queue", "controller/requirement", "controller/target", "controller/evaluate", "controller", "controller/review", "controller/confirm", "controller/remeasure",
	}, reason: "it plans again what another process has planned, and judges single cases of it"},
	{dir: "controller/serve", sees: []string{
		"controller/config", "controller/gitrepo", "controller/forge", "controller/ledger", "controller/reconcile", "controller/command", "controller/review", "controller", "controller/report", "controller/tracing", "controller/safefile", "controller/crowd",
	}, reason: "it decides what is looked at and when; what is found is the review's"},
	{dir: "controller/ci", sees: []string{
		"controller/forge", "controller/ledger", "controller/command", "controller/review", "controller/report", "controller/safefile",
	}, reason: "it decides what a CI job is about; what is found is the review's"},
	{dir: "controller/selection", sees: []string{"schema", "controller/choice", "controller/invocation", "controller/verdict", "controller/plan", "controller/ledger", "controller", "controller/report"}, reason: "it says which cases are meant, and judges none"},
	{dir: "controller/maintenance", sees: []string{
		"schema", "controller/plan", "controller/config", "controller/gitrepo", "controller/forge", "controller/ledger", "controller/remeasure", "controller", "controller/report", "controller/casehistory", "reporters/textfmt",
	}, reason: "it looks at a ledger and a repository together, and changes neither"},
	{dir: "controller/dashboard", sees: []string{
		"schema", "controller/plan", "controller/stats", "controller/verdict", "controller/progress", "controller/ledger", "controller/redact", "controller/report", "reporters", "reporters/textfmt", "controller/crowd",
	}, reason: "it shows what is stored, and runs and changes nothing"},
	{dir: "controller/programs", sees: []string{
		"schema", "controller/plan", "controller/gitrepo", "controller/ownfolder", "controller/evaluate", "controller/evaluate/sandbox", "controller/workspaces", "controller",
	}, reason: "it brings programs and their files together and decides nothing about trust"},
	{dir: "examples", reason: "they are files for people, which the demo carries along"},
	{dir: "cmd", sees: []string{"*"}, reason: "it wires all of them"},
}

// A confined library may be imported in some rooms only.
type confined struct {
	library string
	in      []string
	reason  string
}

var libraries = []confined{
	{"cuelang.org/go", []string{"schema", "cmd/internal/pages"}, "what CUE keeps in its contexts and hides in its errors is known in one place"},
	{"cuelang.org/go/cue/cuecontext", []string{"schema/cuefile/cueeval", "schema/shape/cueshape"}, "schemas are compiled where their shapes are stored, and code of strangers is evaluated only in a child"},
	{"github.com/dop251/goja", []string{"schema/javascript"}, "code of strangers runs only in a child that can but compute"},
	{"github.com/santhosh-tekuri/jsonschema", []string{"schema/jsonschema"}, "it loads no schema and takes no step more than is allowed only as it is set up there"},
	{"github.com/go-git", []string{"controller/gitrepo"}, "nothing else may check out, follow a link or lock a store"},
	{"github.com/google/go-github", []string{"controller/forge", "reporters/github"}, "its traps with limits and payloads are handled there"},
	{"github.com/golang-jwt/jwt", []string{"controller/forge"}, "who speaks as an App is decided in one place"},
	{"modernc.org/sqlite", []string{"controller/ledger", "controller/evaluate/sqlexec"}, "storage is one room, SQL of strangers another"},
	{"github.com/riverqueue", []string{"controller/queue"}, "what is queued, and when it is done, is decided in one room"},
	{"database/sql", []string{"controller/ledger", "controller/evaluate/sqlexec"}, "storage is one room, SQL of strangers another"},
	{"github.com/theory/jsonpath", []string{"controller/target/httpagent"}, "which dialect of JSONPath is read has one answer"},
	{"github.com/fsnotify", []string{"controller/filewatch"}, "its events are hints, and only there are they taken for no more"},
	{"github.com/clipperhouse/displaywidth", []string{"reporters/textfmt"}, "how wide a text is has one answer"},
	{"charm.land", []string{"reporters/screen"}, "one room takes the terminal over and gives it back"},
	{"github.com/landlock-lsm/go-landlock", []string{"schema/confine", "controller/evaluate/sandbox"}, "a process that restricts itself does so for good, and so only in a child"},
	{"github.com/chromedp", []string{"controller/dashboard/browsertest"}, "the product starts no browser to look at its own pages"},
	{"github.com/prometheus", []string{"controller/serve/metrics"}, "what is counted, and under which names, is one list"},
	{"google.golang.org/protobuf", []string{"controller/tracing"}, "only collectors of traces speak it"},
	{"github.com/rs/zerolog", []string{"cmd"}, "what is logged passes one place that takes secrets out"},
	{"github.com/spf13", []string{"cmd"}, "flags are read in one place"},
	{"os/exec", []string{"schema/childpool", "schema/confine/confinetest", "controller/target", "controller/evaluate", "controller/serve/trial", "controller/gitrepo/gittest", "controller/ledger/postgrestest", "cmd"}, "every program that is started needs a limit and a trust decision"},
}

// checkLayers finds the imports that go against the rooms. Tests may import
// what they set something up with.
func checkLayers(files []source) []finding {
	var found []finding
	for _, f := range files {
		if _, ok := roomOf(f.dir); !ok {
			found = append(found, finding{f.path, 0, "package " + f.dir + " is in no room; add it to the table of rooms with what it may import and why"})
			continue
		}
		if f.test() {
			continue
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser accepts only quoted paths
			}
			if message := forbidden(f, path); message != "" {
				found = append(found, finding{f.path, f.line(spec.Pos()), message})
			}
		}
	}
	return found
}

// forbidden says why a file may not import a package, or nothing.
func forbidden(f source, path string) string {
	if inner, ok := strings.CutPrefix(path, module+"/"); ok {
		from, _ := roomOf(f.dir)
		to, known := roomOf(inner)
		if known && from.dir != to.dir && !slices.Contains(from.sees, to.dir) && !slices.Contains(from.sees, "*") {
			return fmt.Sprintf("%s imports %s: %s", from.dir, inner, from.reason)
		}
		return ""
	}
	for _, lib := range libraries {
		allowed := slices.ContainsFunc(lib.in, func(dir string) bool { return isWithin(f.dir, dir) })
		if isWithin(path, lib.library) && !allowed {
			return fmt.Sprintf("%s imports %s, which only %s may: %s", f.dir, path, strings.Join(lib.in, " and "), lib.reason)
		}
	}
	return ""
}

// roomOf finds the room of a folder.
func roomOf(dir string) (room, bool) {
	for _, r := range rooms {
		if dir == r.dir || !r.alone && isWithin(dir, r.dir) {
			return r, true
		}
	}
	return room{}, false
}

// isWithin reports whether path is dir or in it.
func isWithin(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
