package dashboard

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/reporters/html"
)

// TestTheColumnsOfFewRunsAreNarrow holds that a phone shows the columns of few runs
// without scrolling, and that the columns of many share the available room.
func TestTheColumnsOfFewRunsAreNarrow(t *testing.T) {
	for _, tt := range []struct{ runs, width int }{{2, 340}, {6, 438}, {60, 640}} {
		cells := slices.Repeat([]html.Cell{{Heat: 10}}, tt.runs)
		drawn := drawHeatMap(slices.Repeat([]string{"03-01 14:00"}, tt.runs), []heatRow{{Name: "math", Cells: cells}})
		if drawn.Width != tt.width {
			t.Errorf("%d runs are %d wide, want %d", tt.runs, drawn.Width, tt.width)
		}
	}
}
