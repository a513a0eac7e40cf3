package report

import "math"

// A mean is a weighted mean in the making.
type mean struct{ sum, weights float64 }

// add counts a score; nil is none.
func (m *mean) add(score *float64, weight float64) {
	if score != nil {
		m.sum += weight * *score
		m.weights += weight
	}
}

// value is Σ w·s / Σ w, or nil where nothing was weighed.
func (m *mean) value() *float64 {
	v := m.sum / m.weights
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
