package comment

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

func (o Options) blob(commit, file string, line int) string {
	return Blob(o.RepositoryURL, commit, file, line)
}

// Blob is the address of a line of a file at a commit of the repository with a
// page; empty where the commit or the path is none that a forge could show.
func Blob(repositoryURL, commit, file string, line int) string {
	repo := textfmt.WebAddress(repositoryURL)
	if repo == "" || !isCommit(commit) || file == "" || strings.HasPrefix(file, "/") {
		return ""
	}
	for _, segment := range strings.Split(file, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return ""
		}
	}
	out := repo + "/blob/" + commit + "/" + textfmt.PercentEncode(file, "-._/")
	if line > 0 {
		out += fmt.Sprintf("#L%d", line)
	}
	return out
}

func isCommit(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
