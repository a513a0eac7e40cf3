package report

import "math"

// A WeightedMean is a weighted mean in the making. The zero WeightedMean is empty.
type WeightedMean struct{ sum, weights float64 }

// Add counts a score; nil is none.
func (m *WeightedMean) Add(score *float64, weight float64) {
	if score != nil {
		m.sum += weight * *score
		m.weights += weight
	}
}

// Value is Σ w·s / Σ w, or nil where nothing was weighed.
func (m *WeightedMean) Value() *float64 {
	v := m.sum / m.weights
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
