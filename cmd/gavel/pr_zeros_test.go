package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestAbuseZerosAnywhere has heads with a blob of zeros in each place that may be
// read. The statuses are terminal, the comment names a file that counts, and the blob
// is never in memory.
func TestAbuseZerosAnywhere(t *testing.T) {
	const size = 80 << 20 // more than the largest file that is read at all
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	blob := gittest.Zeros(t, j.folder, size)
	j.git(t, "repack", "-q", "-a", "-d", "-k") // git deflates a blob again each time that it sends one of no pack
	j.git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	gittest.Run(t, j.checkout, "remote", "set-url", "origin", gittest.Backend(t, j.folder))
	large := fmt.Sprintf("the file has %d bytes; a definition may have ", size)
	for _, tt := range []struct{ name, want string }{
		{"gavel.yaml", large},
		{".gavelignore", fmt.Sprintf("the file is not applied: read .gavelignore: it has %d bytes", size)},
		{".gitattributes", ""},
		{"assets/film.bin", ""},
		{"test_definitions/math/domain.json", large},
		{"test_definitions/zeros.json", large},
		{"test_definitions/zeros.yaml", large},
		{"test_definitions/zeros.jsonl", large},
		{"test_definitions/zeros.cue", large},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j.head = gittest.Graft(t, j.folder, j.base, "100644 blob "+blob+"\t"+tt.name)
			j.move(t, j.head)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, stderr, _ := j.run(t)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d bytes were allocated", took)
			}
			state := "success: "
			if tt.want != "" {
				state = "failure: "
			}
			for _, context := range []string{"gavel/validate", "gavel/verdict"} {
				if got := j.states()[context]; !strings.HasPrefix(got, state) {
					t.Errorf("%s is %q, want %q\n%s", context, got, state, stderr)
				}
			}
			comments := j.forge.Comments(1)
			if len(comments) != 1 || !strings.Contains(comments[0].Body, tt.want) {
				t.Errorf("the comment lacks %q: %v", tt.want, comments)
			}
		})
	}
}
