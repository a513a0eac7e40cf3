package report

import "math"

// A weightedMean accumulates a weighted mean. The zero weightedMean is empty.
type weightedMean struct{ sum, weights float64 }

// Add adds a score; nil adds nothing.
func (m *weightedMean) Add(score *float64, weight float64) {
	if score != nil {
		m.sum += weight * *score
		m.weights += weight
	}
}

// Value returns Σ w·s / Σ w, or nil without weights.
func (m *weightedMean) Value() *float64 {
	v := m.sum / m.weights
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
