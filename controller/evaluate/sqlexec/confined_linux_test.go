//go:build amd64 || arm64

package sqlexec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/confine/confinetest"
)

// TestChildIsConfined has the child itself try what it is refused.
func TestChildIsConfined(t *testing.T) {
	confinetest.Child(t, "sqlexec-child", "GAVEL_SQLEXEC_CHILD")
}

// TestQueryWithoutMeans asks on a kernel that can confine nothing.
func TestQueryWithoutMeans(t *testing.T) {
	if !confinetest.RunUnconfined(t) {
		return
	}
	got, err := sqlexec.Query(t.Context(), script(shop), "SELECT name FROM products ORDER BY price")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sqlexec.Result{Columns: []string{"name"}, Rows: 3}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}
