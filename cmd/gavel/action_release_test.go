package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const archiveName = "gavel_linux_amd64.tar.gz"

// archive is a released one, whose program says so.
func archive(t *testing.T) []byte {
	t.Helper()
	program := "#!/bin/sh\necho the released program >&2\nexec gavel-in-a-job \"$@\"\n"
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	files := tar.NewWriter(zipped)
	err := files.WriteHeader(&tar.Header{Name: "gavel", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = files.Write([]byte(program))
	}
	for _, closeIt := range []func() error{files.Close, zipped.Close} {
		if err == nil {
			err = closeIt()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// released is the folder of the action as a release has it, which names an archive
// of these bytes by the digest of others.
func released(t *testing.T, bytes, digested []byte) string {
	t.Helper()
	dir := t.TempDir()
	action, err := os.ReadFile(actionFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), archiveName)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{filepath.Join(dir, "go.mod"), []byte("module github.com/gavel-evals/gavel\n")},
		{filepath.Join(dir, "cmd/gavel/main.go"), nil},
		{filepath.Join(dir, "action.yml"), action},
		{filepath.Join(dir, ".github/actions/gavel/archives.txt"), fmt.Appendf(nil, "%x file://%s\n", sha256.Sum256(digested), file)},
		{file, bytes},
	} {
		if err := os.MkdirAll(filepath.Dir(tt.name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tt.name, tt.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAReleaseDownloadsItsProgram holds that the action of a release takes the
// archive with the digest that it knows, and builds the program where the archive
// is another one.
func TestAReleaseDownloadsItsProgram(t *testing.T) {
	good := archive(t)
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 1
	for _, test := range []struct {
		name  string
		bytes []byte
		wants []string
		not   string
	}{
		{"as released", good, []string{"the released program"}, "::warning::"},
		{"another archive", damaged, []string{"::warning::", "not what was released; gavel is built from its source"}, "the released program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t)
			p.action = released(t, test.bytes, good)
			p.git("switch", "-q", "-c", "topic")
			p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
			p.pull(forgetest.Pull{})
			m := p.pullJob("pull_request", forgetest.Pull{})
			if m.failed != exitPass {
				t.Errorf("exit code %d, want 0", m.failed)
			}
			for _, want := range test.wants {
				if !strings.Contains(m.log.String(), want) {
					t.Errorf("the log does not say %q", want)
				}
			}
			if strings.Contains(m.log.String(), test.not) {
				t.Errorf("the log says %q, and should not", test.not)
			}
			if t.Failed() {
				t.Log(&m.log)
			}
		})
	}
}

// TestAReleasePublishesTheAction holds that the script of the release puts
// action.yml at the top of a commit that only the tags have, with the digests of
// the archives, and that a candidate does not become what v1 means.
func TestAReleasePublishesTheAction(t *testing.T) {
	origin, work := t.TempDir(), t.TempDir()
	gittest.Run(t, origin, "init", "-q", "--bare", "-b", "main")
	gittest.Init(t, work, "main")
	files := map[string]string{}
	for _, name := range []string{"action.yml", "publish.sh"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(actionFile), name))
		if err != nil {
			t.Fatal(err)
		}
		files[".github/actions/gavel/"+name] = string(data)
	}
	gittest.Commit(t, work, files)
	gittest.Run(t, work, "push", "-q", origin, "main")
	checksums := filepath.Join(t.TempDir(), "checksums.txt")
	if err := os.WriteFile(checksums, []byte("aa11  "+archiveName+"\nbb22  gavel_1.2.3_linux_amd64.deb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	publish := func(tag string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", ".github/actions/gavel/publish.sh", checksums)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GITHUB_REF_NAME="+tag, "GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY=gavel-evals/gavel", "GITHUB_TOKEN=t", "PUSH_TO="+origin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("publish %s: %v\n%s", tag, err, out)
		}
		gittest.Run(t, work, "reset", "-q", "--hard", "origin-main")
	}
	gittest.Run(t, work, "tag", "origin-main")

	publish("v1.2.3-rc.1")
	if tags := gittest.Run(t, origin, "tag"); tags != "v1.2.3-rc.1-action" {
		t.Errorf("after a candidate the tags are %q, want its own alone", tags)
	}
	publish("v1.2.3")
	publish("v1.3.0")
	if diff := cmp.Diff(files[".github/actions/gavel/action.yml"], gittest.Run(t, origin, "show", "v1:action.yml")+"\n"); diff != "" {
		t.Errorf("the action at the top of v1 (-want +got):\n%s", diff)
	}
	want := "aa11 https://github.com/gavel-evals/gavel/releases/download/v1.3.0/" + archiveName
	if got := gittest.Run(t, origin, "show", "v1:.github/actions/gavel/archives.txt"); got != want {
		t.Errorf("the archives of v1 are %q, want %q", got, want)
	}
	if got, want := gittest.Run(t, origin, "rev-parse", "main", "v1^"), gittest.Run(t, origin, "rev-parse", "main", "main"); got != want {
		t.Errorf("the branch and the parent of v1 are %q, want the released commit twice, %q", got, want)
	}
}

// TestTheReleaseIsTriedWithItsOwnTool holds that .ci/run tries a release, with the
// version of the tool that the workflow releases with.
func TestTheReleaseIsTriedWithItsOwnTool(t *testing.T) {
	tool := regexp.MustCompile(`github\.com/goreleaser/goreleaser/v2@v[0-9.]+`)
	tried, released := tool.FindString(page(t, ".ci/release")), tool.FindString(page(t, ".github/workflows/release.yml"))
	if tried == "" || tried != released {
		t.Errorf("a release is tried with %q and made with %q", tried, released)
	}
	if !strings.Contains(page(t, ".ci/run"), "\n.ci/release\n") {
		t.Error(".ci/run does not try a release")
	}
}

// TestThePageOnInstalling follows the page with an archive in the place of a released
// one, and holds that the files, packages and systems that it names are made.
func TestThePageOnInstalling(t *testing.T) {
	for _, needed := range []string{"curl", "sha256sum"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("this machine has no %s", needed)
		}
	}
	r := newReader(t)
	text := page(t, "examples/install.md")
	made := archive(t)
	release := t.TempDir()
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{archiveName, made},
		{"checksums.txt", fmt.Appendf(nil, "%x  %s\n%064d  gavel_darwin_arm64.tar.gz\n", sha256.Sum256(made), archiveName, 0)},
	} {
		if err := os.WriteFile(filepath.Join(release, tt.name), tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.says = strings.NewReplacer("https://github.com/gavel-evals/gavel/releases/latest/download", "file://"+release, "go install github.com/gavel-evals/gavel/cmd/gavel@latest\n", "")
	r.follow(text)

	var config struct {
		Builds   []struct{ Goos, Goarch []string }
		Archives []struct {
			Formats      []string
			NameTemplate string `yaml:"name_template"`
		}
		Checksum struct {
			NameTemplate string `yaml:"name_template"`
		}
		Nfpms []struct{ Formats []string }
		Casks []struct {
			Name       string
			Repository struct{ Owner, Name string }
		} `yaml:"homebrew_casks"`
		Sboms []struct{ Artifacts string }
	}
	if err := yaml.Unmarshal([]byte(page(t, ".github/goreleaser.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	cask := config.Casks[0]
	names := []string{
		"brew install --cask " + cask.Repository.Owner + "/" + strings.TrimPrefix(cask.Repository.Name, "homebrew-") + "/" + cask.Name,
		strings.NewReplacer("{{ .Os }}", "linux", "{{ .Arch }}", "amd64").Replace(config.Archives[0].NameTemplate) + "." + config.Archives[0].Formats[0],
		"`" + config.Checksum.NameTemplate + "`",
	}
	for _, format := range config.Nfpms[0].Formats {
		names = append(names, "./gavel_VERSION_linux_amd64."+format)
	}
	for _, system := range config.Builds[0].Goos {
		names = append(names, map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}[system])
	}
	for _, name := range append(names, strings.Join(config.Builds[0].Goarch, " and ")) {
		if !strings.Contains(text, name) {
			t.Errorf("the page does not name %q, which a release has", name)
		}
	}
	if len(config.Sboms) != 1 || config.Sboms[0].Artifacts != "archive" || !strings.Contains(page(t, ".github/workflows/release.yml"), "subject-checksums: dist/checksums.txt") {
		t.Error("a release has no list of components for each archive, or no provenance of what checksums.txt names")
	}
}
