package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen reports whether w is a terminal, and its width. Another writer counts as 80
// columns wide.
func Screen(w io.Writer) (width int, isTerminal bool) {
	f, ok := Below(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 80, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return width, true
}

// Below returns the final destination of w, such as a terminal.
func Below(w io.Writer) io.Writer {
	for {
		above, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = above.Unwrap()
	}
}

// OptionsFor returns the options of a writer. A terminal has colors unless NO_COLOR is
// set. FORCE_COLOR decides if it is set: 0 and false mean no colors, anything else
// colors, also in a file and a pipe.
func OptionsFor(w io.Writer, lookupEnv func(string) (string, bool)) Options {
	width, isTerminal := Screen(w)
	no, _ := lookupEnv("NO_COLOR")
	color := isTerminal && no == ""
	switch forced, _ := lookupEnv("FORCE_COLOR"); forced {
	case "":
	case "0", "false":
		color = false
	default:
		color = true
	}
	return Options{Width: width, Color: color}
}
