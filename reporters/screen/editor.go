package screen

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// EditorCommand returns the command that opens a file at a line, by VISUAL or EDITOR.
func EditorCommand(lookupEnv func(string) (string, bool), file string, line int) ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		command, _ := lookupEnv(name)
		if words := strings.Fields(command); len(words) > 0 {
			return append(words, editorArgs(words, file, max(line, 1))...), nil
		}
	}
	return nil, errors.New("no editor is set: export EDITOR, such as EDITOR=vim")
}

// editorArgs returns an editor's arguments for opening a line.
func editorArgs(editor []string, file string, line int) []string {
	at := fmt.Sprintf("%s:%d", file, line)
	switch filepath.Base(editor[0]) {
	case "code", "code-insiders", "codium", "cursor", "windsurf":
		if slices.Contains(editor, "--goto") || slices.Contains(editor, "-g") {
			return []string{at}
		}
		return []string{"--goto", at}
	case "subl", "zed", "hx", "helix":
		return []string{at}
	}
	return []string{fmt.Sprintf("+%d", line), file}
}
