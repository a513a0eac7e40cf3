package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestTheSchemaKeyBearsOnNothing by which an editor finds its schema.
func TestTheSchemaKeyBearsOnNothing(t *testing.T) {
	const key = "$schema: https://example.com/gavel.json\n"
	const own = "version: 1\ntargets: {bot: {provider: mock, replies: [{reply: x}]}}\n"
	without, _ := config.Parse("gavel.yaml", []byte(own))
	with, problems := config.Parse("gavel.yaml", []byte(own+key))
	if len(problems) > 0 || with.Digest != without.Digest {
		t.Errorf("gavel.yaml: %v, digest %s and %s", problems, with.Digest, without.Digest)
	}
	const server = "version: 1\nrepositories: [{url: /srv/a.git}]\n"
	was, _ := config.ParseServer("server.yaml", []byte(server))
	is, problems := config.ParseServer("server.yaml", []byte(server+key))
	if diff := cmp.Diff(was, is); len(problems) > 0 || diff != "" {
		t.Errorf("the server's file: %v\n%s", problems, diff)
	}
}
