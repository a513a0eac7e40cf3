package access

import "context"

// guardKey is where a request has the gate that it came through.
type guardKey struct{}

func withGuard(ctx context.Context, g *guarded) context.Context {
	return context.WithValue(ctx, guardKey{}, g)
}

func guardedOf(ctx context.Context) (*guarded, bool) {
	g, ok := ctx.Value(guardKey{}).(*guarded)
	return g, ok
}
