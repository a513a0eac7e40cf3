package aggregate

import "math"

// A Mean is a weighted mean in the making. The zero Mean is empty.
type Mean struct{ sum, weights float64 }

// Add counts a score; nil is none.
func (m *Mean) Add(score *float64, weight float64) {
	if score != nil {
		m.sum += weight * *score
		m.weights += weight
	}
}

// Value is Σ w·s / Σ w, or nil where nothing was weighed.
func (m *Mean) Value() *float64 {
	v := m.sum / m.weights
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
