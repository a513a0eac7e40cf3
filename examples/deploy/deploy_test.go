// Package deploy holds the files of this folder against the formats that they are
// written in. It is a module of its own, so that the product does not carry the
// parsers.
package deploy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages reads the Dockerfile.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(result.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// project reads the compose file with the variables that it asks for.
func project(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// TestTheImageHoldsGavelAlone holds that the image starts from nothing, does not run
// as root, and has what it needs: certificates, its volume and a scratch folder.
func TestTheImageHoldsGavelAlone(t *testing.T) {
	all := stages(t)
	last := all[len(all)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image is built on %q, want scratch", last.BaseName)
	}
	var copied []string
	user := ""
	for _, command := range last.Commands {
		switch c := command.(type) {
		case *instructions.CopyCommand:
			copied = append(copied, c.DestPath)
		case *instructions.UserCommand:
			user = c.User
		case *instructions.RunCommand:
			t.Errorf("the image runs %v, and has no shell for it", c.CmdLine)
		}
	}
	if user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Errorf("the image runs as %q, want a user without rights", user)
	}
	for _, want := range []string{"/etc/ssl/certs/", "/gavel", "/var/lib/gavel", "/tmp"} {
		if !slices.Contains(copied, want) {
			t.Errorf("the image has %v, and lacks %s", copied, want)
		}
	}
}

// TestTheComposeFile holds that it is valid, that nothing is reached from outside
// without a proxy, and that the container may do no more than it needs.
func TestTheComposeFile(t *testing.T) {
	key := t.TempDir() + "/app.pem"
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project(t, "GAVEL_WEBHOOK_SECRET=0123456789abcdef", "GAVEL_APP_KEY="+key)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.MemLimit == 0 {
			t.Errorf("service %s may do more than it needs: read_only %v, cap_drop %v, security_opt %v, mem_limit %d", name, s.ReadOnly, s.CapDrop, s.SecurityOpt, s.MemLimit)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("service %s is reached at %s:%s, want 127.0.0.1", name, port.HostIP, port.Published)
			}
		}
	}
	for _, missing := range [][]string{{"GAVEL_APP_KEY=" + key}, {"GAVEL_WEBHOOK_SECRET=0123456789abcdef"}} {
		if _, err := project(t, missing...); err == nil {
			t.Errorf("the file is taken with %v alone, and should name what is missing", missing)
		}
	}
}
