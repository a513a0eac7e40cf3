// Package version says what this program was built from.
package version

import (
	"fmt"
	"runtime/debug"
)

// A Version is that of a build.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// This is the version of the program that runs.
func This() Version {
	v := Version{Version: "devel"}
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

// String is the line that people read.
func (v Version) String() string {
	return fmt.Sprintf("gavel %s %s %s\n", v.Version, v.Commit, v.Go)
}
