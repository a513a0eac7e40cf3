package guard

import "context"

// gateKey is where a request has the gate that it came through.
type gateKey struct{}

func withGate(ctx context.Context, g *gate) context.Context {
	return context.WithValue(ctx, gateKey{}, g)
}

func gateOf(ctx context.Context) (*gate, bool) {
	g, ok := ctx.Value(gateKey{}).(*gate)
	return g, ok
}
