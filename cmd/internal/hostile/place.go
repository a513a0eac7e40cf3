package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/stage"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const (
	configuration = `version: 1
default_target: agent
targets:
  agent: {provider: mock, kind: agent, accepts_prompt: true, replies: [{match: ".", reply: "Hello, world."}]}
  judge: {provider: mock, replies: [{match: ".", reply: '{"analysis": "It greets.", "grade": "Excellent", "pass": true}'}]}
roles: {judge: judge}
`
	definition = `{"test_type": "agent", "name": "agent", "user_input": ["hi"], "testing_prompt": "The answer greets."}`
	stranger   = "stranger"
)

// A fixture is a repository with pull requests at a forge.
type fixture struct {
	*stage.Stage
	// forge is asked by jobs, and second by the server, which must not find a job's
	// results.
	forge, second *forgetest.Forge
	dir           string // of the repository
	base          string
	heads         []head
}

// A head is a pull request.
type head struct {
	name, sha string
	number    int
	// words are a part of the comment.
	words string
	// job makes gavel pr judge it, too; green is one that is not hostile. A writer's is
	// trusted, and need not be green.
	job, green, writer bool
}

// newPlace makes the repository, with a blob of this many zeros for some heads.
func newPlace(s *stage.Stage, dir string, blob int64) *fixture {
	p := begin(s, filepath.Join(dir, "origin"))
	// A repository with a large file in its history is accepted.
	asset := gittest.Zeros(p, p.dir, 300<<20)
	p.base = gittest.Graft(p, p.dir, p.base, "100644 blob "+asset+"\tassets/film.bin")
	gittest.Run(p, p.dir, "update-ref", "refs/heads/main", p.base)
	p.bombs()
	p.blobs(blob)
	p.addSlowHeads()
	p.add(head{name: "harmless", green: true}, "100644 blob "+p.blob(definition)+"\ttest_definitions/b.json")
	p.open()
	return p
}

// crowded is how many names each of three levels of folders has, so that the
// repository has about 100,000 definitions, and bulky those that a writer adds: nearly as many
// as may be added at once.
const (
	crowded = 47
	bulky   = 39
)

// newCrowd makes a repository with many definitions, to which a head adds one.
func newCrowd(s *stage.Stage, dir string) *fixture {
	p := begin(s, filepath.Join(dir, "crowd"))
	many := gittest.Bomb{Levels: 3, Names: crowded, Extension: ".json", Blob: p.blob(definition)}
	p.base = gittest.Graft(p, p.dir, p.base, "040000 tree "+many.Store(p, p.dir)+"\ttest_definitions/many")
	// A server judges them with the branch, whose last commit changes none.
	p.base = gittest.Graft(p, p.dir, p.base, "100644 blob "+p.blob("words")+"\tdocs.md")
	gittest.Run(p, p.dir, "update-ref", "refs/heads/main", p.base)
	p.add(head{name: fmt.Sprintf("one more than %d definitions", crowded*crowded*crowded+1), green: true},
		"100644 blob "+p.blob(definition)+"\ttest_definitions/b.json")
	p.open()
	return p
}

// newBulk makes a repository to which a writer's head adds as many definitions.
func newBulk(s *stage.Stage, dir string) *fixture {
	p := begin(s, filepath.Join(dir, "bulk"))
	many := gittest.Bomb{Levels: 3, Names: bulky, Extension: ".json", Blob: p.blob(definition)}
	p.add(head{name: fmt.Sprintf("%d definitions of a writer", bulky*bulky*bulky), writer: true},
		"040000 tree "+many.Store(p, p.dir)+"\ttest_definitions/many")
	p.open()
	return p
}

// begin makes a repository with one definition in a folder.
func begin(s *stage.Stage, dir string) *fixture {
	p := &fixture{Stage: s, forge: forgetest.New(s), second: forgetest.New(s), dir: dir}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		p.Fatal(err)
	}
	for _, forge := range p.forges() {
		forge.SetPermission("maintainer", "write")
		forge.SetPermission(stranger, "read")
	}
	gittest.Run(p, p.dir, "init", "-q", "-b", "main")
	p.base = gittest.Commit(p, p.dir, map[string]string{"gavel.yaml": configuration, "test_definitions/a.json": definition})
	return p
}

// open makes the forges return the address of the repository's clone.
func (p *fixture) open() {
	url := gittest.Backend(p, p.dir)
	for _, forge := range p.forges() {
		forge.CloneURL = url
	}
}

func (p *fixture) forges() []*forgetest.Forge { return []*forgetest.Forge{p.forge, p.second} }

func (p *fixture) blob(text string) string {
	return gittest.Blob(p, p.dir, strings.NewReader(text))
}

// add makes a head that equals base, or a new commit, except for some entries.
func (p *fixture) add(h head, entries ...string) {
	h.number, h.sha = len(p.heads)+1, cmp.Or(h.sha, p.base)
	for _, entry := range entries {
		h.sha = gittest.Graft(p, p.dir, h.sha, entry)
	}
	pull := forgetest.Pull{Number: h.number, HeadSHA: h.sha, BaseSHA: p.base, HeadRef: fmt.Sprint("topic-", h.number)}
	if !h.green && !h.writer {
		pull.Author, pull.HeadRepo = stranger, stranger+"/demo"
	}
	gittest.Run(p, p.dir, "update-ref", fmt.Sprintf("refs/pull/%d/head", h.number), h.sha)
	for _, forge := range p.forges() {
		forge.AddPull(pull)
	}
	p.heads = append(p.heads, h)
}

// bombs are heads of a few objects that represent endless paths.
func (p *fixture) bombs() {
	empty := p.blob("{}")
	bomb := func(levels, names int, extension string) string {
		return "040000 tree " + gittest.Bomb{Levels: levels, Names: names, Extension: extension, Blob: empty}.Store(p, p.dir)
	}
	const bound = "paths are added or changed; the bound is 200000"
	p.add(head{name: "10^10 definitions", job: true, words: bound}, bomb(10, 10, ".json")+"\ttest_definitions/bomb")
	p.add(head{name: "10^10 other files", job: true, words: bound}, bomb(10, 10, ".txt")+"\tdocs/bomb")
	p.add(head{name: "300 folders deep", words: "nested more than 64 deep"}, bomb(300, 1, ".json")+"\ttest_definitions/deep")
	p.add(head{name: "195,000 definitions of one blob"}, bomb(3, 58, ".json")+"\ttest_definitions/bomb")
}

// blobs are heads with one that is large once it is inflated, or once it is made
// from the difference to another one.
func (p *fixture) blobs(size int64) {
	large := "100644 blob " + gittest.Zeros(p, p.dir, size)
	p.add(head{name: "a blob of zeros", job: true}, large+"\tassets/zeros.bin")
	p.add(head{name: "a definition of zeros", words: fmt.Sprint("has ", size, " bytes")}, large+"\ttest_definitions/zeros.json")
	piece, whole := gittest.Expanding(p, p.dir, int(size>>16))
	piece, whole = "100644 blob "+piece, "100644 blob "+whole
	words := fmt.Sprint("a new object of ", size, " bytes is stored as the difference to another one")
	p.add(head{name: "a blob as a difference", job: true, words: words}, piece+"\tassets/piece.bin", whole+"\tassets/whole.bin")
	p.add(head{name: "a definition as a difference", words: words}, piece+"\tassets/piece.bin", whole+"\ttest_definitions/whole.json")
}

// addSlowHeads adds heads that take long to read.
func (p *fixture) addSlowHeads() {
	pattern := strings.Repeat("**/*a*/", 30) + "*.json\n"
	var lines strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lines, `{"id": "%d", "expected_outcome": "x", "input_messages": [{"role": "user", "content": "y"}]}`+"\n", i)
	}
	suites := gittest.Bomb{Levels: 2, Names: 14, Extension: ".jsonl", Blob: p.blob(lines.String())}
	p.add(head{name: "490,000 cases", words: "more than 20000 cases"}, "040000 tree "+suites.Store(p, p.dir)+"\ttest_definitions/suites")
	deep := p.blob("{}")
	p.add(head{name: "globs with many **"},
		"100644 blob "+p.blob(strings.Repeat(pattern, 200))+"\t.gavelignore",
		"100644 blob "+deep+"\ttest_definitions/"+strings.Repeat("a/", 28)+"b.json")
}
