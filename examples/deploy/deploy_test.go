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

// project reads a compose file with the variables that it asks for.
func project(t *testing.T, file string, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// TestTheImageHoldsGavelAlone holds that the image starts from nothing, does not run as
// root, and has everything that it needs: certificates, its volume and a scratch
// folder.
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
	p, err := project(t, "compose.yaml", "GAVEL_WEBHOOK_SECRET=0123456789abcdef", "GAVEL_APP_KEY="+key)
	if err != nil {
		t.Fatal(err)
	}
	confined(t, p)
	for _, missing := range [][]string{{"GAVEL_APP_KEY=" + key}, {"GAVEL_WEBHOOK_SECRET=0123456789abcdef"}} {
		if _, err := project(t, "compose.yaml", missing...); err == nil {
			t.Errorf("the file is taken with %v alone, and should name what is missing", missing)
		}
	}
}

// confined holds that nothing is reached from outside without a proxy, and that
// containers may do no more than they need.
func confined(t *testing.T, p *types.Project) {
	t.Helper()
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
}

// TestTheComposeFileWithWorkers holds that two workers judge, that only they have the
// key of the model and only the server the webhook's, and that nobody else reaches the
// database.
func TestTheComposeFileWithWorkers(t *testing.T) {
	key := t.TempDir() + "/app.pem"
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project(t, "compose.workers.yaml", "GAVEL_WEBHOOK_SECRET=0123456789abcdef", "GAVEL_APP_KEY="+key, "GAVEL_DATABASE_PASSWORD=p", "OPENAI_API_KEY=k")
	if err != nil {
		t.Fatal(err)
	}
	confined(t, p)
	server, worker, database := p.Services["server"], p.Services["worker"], p.Services["database"]
	if worker.Deploy == nil || worker.Deploy.Replicas == nil || *worker.Deploy.Replicas != 2 || worker.Command[0] != "worker" {
		t.Errorf("the workers are %+v with the command %v, want two of gavel worker", worker.Deploy, worker.Command)
	}
	for _, tt := range []struct {
		service  types.ServiceConfig
		has, not string
	}{{server, "GAVEL_WEBHOOK_SECRET", "OPENAI_API_KEY"}, {worker, "OPENAI_API_KEY", "GAVEL_WEBHOOK_SECRET"}, {database, "POSTGRES_PASSWORD", "OPENAI_API_KEY"}} {
		_, has := tt.service.Environment[tt.has]
		if _, more := tt.service.Environment[tt.not]; !has || more {
			t.Errorf("service %s has the variables %v, want %s and not %s", tt.service.Name, tt.service.Environment, tt.has, tt.not)
		}
	}
	if len(database.Ports) > 0 || len(database.Networks) != 1 || !p.Networks["inside"].Internal {
		t.Errorf("the database is reached at %v over %v, want the internal network alone", database.Ports, database.Networks)
	}
	if _, err := project(t, "compose.workers.yaml", "GAVEL_WEBHOOK_SECRET=0123456789abcdef", "GAVEL_APP_KEY="+key); err == nil {
		t.Error("the file is taken without a password for the database")
	}
}
