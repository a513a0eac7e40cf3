package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheProgramHasNoGRPC: it costs seconds of every first build, and traces need
// only HTTP.
func TestTheProgramHasNoGRPC(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/gavel").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("the program has %d packages", len(packages))
	}
	for _, p := range packages {
		if isWithin(p, "google.golang.org/grpc") || isWithin(p, "go.opentelemetry.io") {
			t.Errorf("the program has %s", p)
		}
	}
}
