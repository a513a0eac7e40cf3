package main

import (
	"context"
	"os/exec"
	"runtime"
)

// browse opens a page in the person's browser. If that fails, the person still has the
// printed address.
func browse(ctx context.Context, url string) {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // its result does not matter
	}
}
