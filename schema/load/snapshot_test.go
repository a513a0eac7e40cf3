package load

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// edits are single changes of the seed's repository, each of a kind of its
// own: what a test shares, what it names, what decides its dialect, what it
// clashes with. An empty text removes the file.
func edits() map[string]map[string]string {
	const d = "test_definitions/"
	test := `{"id": "one", "name": "One", "prompt": "Now?", "expected": {"tools": ["get_weather"]}}`
	return map[string]map[string]string{
		"a test":                    {d + "tool_calling/level_1/test_one.json": test},
		"a broken test":             {d + "tool_calling/level_1/test_one.json": `{"id": `},
		"a removed test":            {d + "tool_calling/level_1/test_one.json": ""},
		"a new test":                {d + "math/level_2/new.yaml": "id: new\nname: N\nprompt: 2?\nevaluator_id: two_pass\nexpected: {answer: 2}\n"},
		"tests in lines":            {d + "math/level_2/lines.jsonl": `{"id": "l1", "name": "L", "prompt": "2?", "evaluator_id": "two_pass", "expected": {"answer": 2}}` + "\n" + `{"id": "l2", "name": "L", "prompt": "3?", "evaluator_id": "two_pass", "expected": {"answer": 3}}`},
		"a broken line":             {d + "math/level_2/lines.jsonl": `{"id": "l1", "name": "L", "prompt": "2?", "evaluator_id": "two_pass", "expected": {"answer": 2}}` + "\n" + `{"id": "l2", "name"`},
		"an id that is taken":       {d + "tool_calling/level_2/a.json": strings.Replace(test, `"one"`, `"math_multiply_1"`, 1)},
		"an id taken by an earlier": {d + "conversation/level_1/a.json": `{"id": "one", "name": "G", "prompt": "Halo", "expected": {"keywords": ["halo"]}}`},
		"a key that is taken":       {d + "tool_calling/level_1/test_one.yaml": strings.Replace(test, `"one"`, `"other"`, 1)},
		"the same test moved":       {d + "tool_calling/level_1/test_one.json": "", d + "tool_calling/level_2/test_one.json": test},
		"a level appears":           {d + "tool_calling/level_2/level.json": `{"system_prompt": "Be brief."}`},
		"a broken level appears":    {d + "tool_calling/level_2/level.json": `{"system_prompt": 5}`},
		"a domain":                  {d + "tool_calling/domain.json": `{"id": "tool_calling", "name": "T", "evaluator_id": "tool_call", "tool_ids": ["get_weather"], "enabled": false}`},
		"a broken domain":           {d + "tool_calling/domain.json": `{"id": "other", "name": "T"}`},
		"a removed domain":          {d + "tool_calling/domain.json": ""},
		"a domain inside another":   {d + "tool_calling/level_1/domain.json": `{"id": "level_1", "name": "T"}`},
		"a tool":                    {d + "tools/get_weather.json": `{"id": "get_weather", "function": {"name": "weather"}}`},
		"a removed tool":            {d + "tools/get_weather.json": ""},
		"a tool of another id":      {d + "tools/get_weather.json": `{"id": "weather", "function": {"name": "weather"}}`},
		"a tool in front":           {d + "tools/a.json": `{"id": "get_weather", "function": {"name": "first"}}`},
		"a tool next to it":         {"tools/get_order.json": `{"id": "get_order", "function": {"name": "get_order"}}`},
		"a built-in configured":     {d + "evaluators/keyword.json": `{"id": "keyword", "type": "predefined", "config": {"match": "any"}}`},
		"a database":                {d + "sql/seed/shop.sql": `CREATE TABLE products (name TEXT, price REAL, colour TEXT);`},
		"a second script":           {d + "sql/seed/more.sql": `CREATE TABLE orders (id INT);`},
		"no database":               {d + "sql/seed/shop.sql": ""},
		"no definition":             {d + "notes.yaml": "colour: red\n"},
		"another no definition":     {d + "more.json": "[1, 2]"},
		"a lost definition":         {d + "suite.yaml": "eval_cases: []\n"},
		"an ignored folder":         {".gavelignore": "math/\n"},
		"a hidden file":             {d + "math/level_1/.x.json": "{"},
		"a file elsewhere":          {"agent/main.py": "print()"},
	}
}

// state is the content of a snapshot, regardless of its storage.
func state(s *Snapshot) string {
	var b strings.Builder
	for d := range s.Definitions {
		fmt.Fprintln(&b, d)
	}
	for _, p := range s.Problems() {
		fmt.Fprintln(&b, p)
	}
	fmt.Fprintln(&b, s.Totals())
	for _, n := range s.Needs() {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// TestUpdateIsAFreshLoad holds that loading what a change can affect leads to
// the same as loading all: over single edits, and over sequences of them from
// one snapshot to the next.
func TestUpdateIsAFreshLoad(t *testing.T) {
	tools := settings
	tools.DefaultTarget = "bot"
	tools.Targets = map[string]schema.TargetSettings{"bot": {
		Tools: []string{"get_order", "get_weather"}, ToolsAt: schema.Position{File: "gavel.yaml", Line: 5, Column: 3},
	}}
	constraints, _ := constrained(seed(), map[string]string{teamFile: "#Test: prompt: !~\"2\" | error(\"no twos\")\n#Tool: function: name: !=\"weather\""})
	unusable, _ := constrained(seed(), map[string]string{teamFile: "#Test: {"})
	for _, tt := range []struct {
		name      string
		settings  schema.Settings
		sequences int
	}{
		{"plain", settings, 40},
		{"with tools of the target", tools, 10},
		{"with constraints", constraints, 10},
		{"with constraints that cannot be used", unusable, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			updateIsAFreshLoad(t, tt.settings, tt.sequences)
		})
	}
}

// updateIsAFreshLoad goes through every single edit and so many sequences.
func updateIsAFreshLoad(t *testing.T, settings schema.Settings, sequenceCount int) {
	t.Helper()
	all := edits()
	names := slices.Sorted(maps.Keys(all))
	random := rand.New(rand.NewPCG(1, 2))
	var sequences [][]string
	for _, name := range names {
		sequences = append(sequences, []string{name})
	}
	for range sequenceCount {
		var seq []string
		for range 4 {
			seq = append(seq, names[random.IntN(len(names))])
		}
		sequences = append(sequences, seq)
	}
	first := loadBy(t, settings, seed())
	for _, seq := range sequences {
		texts, before := seed(), first
		snap := before.Snapshot()
		for i, name := range seq {
			was := maps.Clone(texts)
			changed := apply(texts, all[name])
			if random.IntN(3) == 0 { // the way back
				texts = seed()
				changed = different(was, texts)
			}
			after := loadBy(t, settings, texts)
			change, err := snap.Update(t.Context(), fsOf(texts), Options{Settings: settings}, changed)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, change, before, after)
			snap = change.Snapshot()
			if diff := cmp.Diff(state(after.Snapshot()), state(snap)); diff != "" {
				t.Fatalf("after %v (-fresh +updated):\n%s", seq[:i+1], diff)
			}
			if again := stored(t, snap); !snap.Equal(again) {
				t.Fatalf("after %v the snapshot is read otherwise than it was written:\n%s\n%s", seq[:i+1], state(snap), state(again))
			}
			before = after
		}
		if diff := cmp.Diff(state(scan(t, settings, texts)), state(snap)); diff != "" {
			t.Fatalf("after %v (-scanned +updated):\n%s", seq, diff)
		}
	}
}

// stored writes a snapshot and reads it.
func stored(t *testing.T, s *Snapshot) *Snapshot {
	t.Helper()
	again, err := Decode(encoded(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func encoded(t testing.TB, s *Snapshot) string {
	t.Helper()
	var out strings.Builder
	if err := s.Encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// updated takes a change into account, and holds that it does so rightly.
func updated(t *testing.T, settings schema.Settings, s *Snapshot, changed []string, before, after map[string]string) *Snapshot {
	t.Helper()
	change, err := s.Update(t.Context(), fsOf(after), Options{Settings: settings}, changed)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, change, loadBy(t, settings, before), loadBy(t, settings, after))
	return change.Snapshot()
}

// holds that no case outside of the affected files differs between the two sides, and
// that those inside equal a fresh load.
func holds(t *testing.T, change *Change, before, after *Result) {
	t.Helper()
	if change.Files == nil {
		return
	}
	cases := func(of *Result, affected bool) map[string]string {
		out := map[string]string{}
		for _, c := range of.Cases {
			if slices.Contains(change.Files, c.Origin.File) == affected {
				out[c.Key] = whole(t, c)
			}
		}
		return out
	}
	if diff := cmp.Diff(cases(before, false), cases(after, false)); diff != "" {
		t.Errorf("a case outside of %v changed:\n%s", change.Files, diff)
	}
	loaded := cases(change.Result, true)
	if diff := cmp.Diff(cases(after, true), loaded); diff != "" {
		t.Errorf("what was loaded of %v is not what a fresh load gives:\n%s", change.Files, diff)
	}
	total, now := change.before.Totals(), change.Snapshot().Totals()
	if was := change.Before(); now.Cases != total.Cases-was.Cases+len(loaded) {
		t.Errorf("%d cases before, %d of them affected, %d loaded, %d now", total.Cases, was.Cases, len(loaded), now.Cases)
	}
}

func whole(t *testing.T, c *schema.Case) string {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func scan(t *testing.T, settings schema.Settings, texts map[string]string) *Snapshot {
	t.Helper()
	s, err := Scan(t.Context(), fsOf(texts), Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func apply(texts, edit map[string]string) (changed []string) {
	for file, text := range edit {
		if text == "" {
			delete(texts, file)
		} else {
			texts[file] = text
		}
		changed = append(changed, file)
	}
	slices.Sort(changed)
	return changed
}

func different(a, b map[string]string) (files []string) {
	for _, file := range slices.Sorted(maps.Keys(a)) {
		if text, there := b[file]; !there || text != a[file] {
			files = append(files, file)
		}
	}
	for file := range b {
		if _, there := a[file]; !there {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

// TestUpdateReadsLittle holds that a change of one test, of a level, of a tool
// loads the tests that it can affect and no other.
func TestUpdateReadsLittle(t *testing.T) {
	files := generate(1000)
	files["test_definitions/tools/t.json"] = &fstest.MapFile{Data: []byte(`{"id": "t", "function": {"name": "t"}}`)}
	files["test_definitions/d3/level_2/t13.json"].Data = []byte(`{"id": "t13", "name": "T", "prompt": "x", "tool_ids": ["t"], "expected": {"keywords": ["x"]}}`)
	snap, err := Scan(t.Context(), files, Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		changed string
		tests   int
	}{
		{"test_definitions/d3/level_2/t13.json", 1},
		{"test_definitions/d3/level_2/level.yaml", 10},
		{"test_definitions/d3/domain.json", 100},
		{"test_definitions/tools/t.json", 1},
		{"agent/main.py", 0},
	} {
		change, err := snap.Update(t.Context(), files, Options{Settings: settings}, []string{tt.changed})
		if err != nil || len(change.Result.Cases) != tt.tests {
			t.Errorf("%s: %d cases are loaded, want %d (%v)", tt.changed, len(change.Result.Cases), tt.tests, err)
		}
	}
}

// FuzzDecode returns damaged bytes with a right checksum: they are an error or a
// snapshot that can be used, and never a panic.
func FuzzDecode(f *testing.F) {
	texts := seed()
	apply(texts, edits()["no definition"])
	s, err := Scan(f.Context(), fsOf(texts), Options{Settings: settings})
	if err != nil {
		f.Fatal(err)
	}
	text := encoded(f, s)
	f.Add([]byte(text[len(snapshotMagic) : len(text)-4]))
	f.Add([]byte{2, '{', '}', 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		all := append([]byte(snapshotMagic), body...)
		got, err := Decode(string(binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))))
		if err != nil {
			return
		}
		got.Totals()
		got.Problems()
		got.affected([]string{"test_definitions/tools/get_weather.json"}, settings)
	})
}

func TestDecodeRefusesDamage(t *testing.T) {
	data := encoded(t, scan(t, settings, seed()))
	for i := range data {
		damaged := []byte(data)
		damaged[i] ^= 0x20
		if _, err := Decode(string(damaged)); err == nil {
			t.Fatalf("byte %d may be anything", i)
		}
	}
	for n := range data {
		if _, err := Decode(data[:n]); err == nil {
			t.Fatalf("%d bytes are enough", n)
		}
	}
}

// Equal reports whether two snapshots say the same; sets of inputs may be
// numbered otherwise.
func (s *Snapshot) Equal(t *Snapshot) bool {
	return slices.EqualFunc(s.records, t.records, func(a, b record) bool {
		return a.file == b.file && a.dialect == b.dialect && a.bad == b.bad &&
			slices.Equal(a.cases, b.cases) && slices.Equal(a.ids, b.ids) && slices.Equal(a.other, b.other) &&
			slices.Equal(s.inputs[a.inputs], t.inputs[b.inputs])
	}) && slices.Equal(s.problems, t.problems) && maps.Equal(s.names, t.names)
}
