package portal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/dashboard"
)

// TestOpenAPI holds that the embedded document and the handlers name the same requests.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(editor.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path, methods := range doc.Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	handled := append(editor.Requests(), "GET "+repositoriesPath, "GET "+pullsPath)
	for _, path := range dashboard.Requests() {
		handled = append(handled, "GET "+path)
	}
	slices.Sort(documented)
	slices.Sort(handled)
	if diff := cmp.Diff(documented, handled); diff != "" {
		t.Errorf("the requests (-documented +handled):\n%s", diff)
	}
}
