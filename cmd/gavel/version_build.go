package main

import (
	"fmt"
	"runtime/debug"
)

// A versionInfo identifies a build.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// thisVersion returns the version of the running program.
func thisVersion() versionInfo {
	v := versionInfo{Version: "devel"}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version, v.Go = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

// String returns the line for people.
func (v versionInfo) String() string {
	return fmt.Sprintf("gavel %s %s %s\n", v.Version, v.Commit, v.Go)
}
