package portal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// TestPathsOfPagesTakeNoDeliveries: a webhook at a path of the pages would end the page,
// and is an error of the operator's file; without pages the path is free.
func TestPathsOfPagesTakeNoDeliveries(t *testing.T) {
	for _, path := range []string{"/", "/costs", repositoriesPath, signPath, "/sign-out", "/static/page.css", "/r/octo/demo/tests"} {
		text := fmt.Sprintf("version: 1\nwebhook: {secret_env: A, path: %s}\nrepositories: [{name: octo/demo}]\n", path)
		if _, problems := config.ParseServer("s.yaml", []byte(text)); schema.HasErrors(problems) {
			t.Errorf("%s without pages: %v, want no error", path, problems)
		}
		_, problems := config.ParseServer("s.yaml", []byte(text+"pages: {users: {ada: {token_env: B}}}\n"))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "where the server has its pages") {
			t.Errorf("%s with pages: %v, want an error", path, problems)
		}
	}
}
