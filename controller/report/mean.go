package report

import "math"

// A weightedMean is a weighted mean in the making. The zero weightedMean is empty.
type weightedMean struct{ sum, weights float64 }

// Add counts a score; nil is none.
func (m *weightedMean) Add(score *float64, weight float64) {
	if score != nil {
		m.sum += weight * *score
		m.weights += weight
	}
}

// Value is Σ w·s / Σ w, or nil where nothing was weighed.
func (m *weightedMean) Value() *float64 {
	v := m.sum / m.weights
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
