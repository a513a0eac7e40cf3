package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A version says what this program was built from.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func thisVersion() version {
	v := version{Version: "devel"}
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
func (v version) String() string {
	return fmt.Sprintf("gavel %s %s %s\n", v.Version, v.Commit, v.Go)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			return a.printOr(v, v.String())
		},
	}
}
