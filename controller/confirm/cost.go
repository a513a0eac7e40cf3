package confirm

// Bound returns the most measurements that a case can take beyond its first outcomes,
// of which only the number at base matters. Measurements that end in an error and are
// tried again are not counted.
func Bound(c Case, options Options) int {
	o := options.withDefaults()
	const outage = 1 // it repeats head's first outcome
	limits, mean := roundsOf(c, o.Limits), 2*Rounds
	switch {
	case c.Certain:
		return 0
	case len(c.Base) == 0:
		return outage + o.New.Runs - 1 + limits
	case c.Gone:
		return outage + goneRuns + limits
	case c.Fresh:
		return 2*outage + 2*o.Looks + limits
	case len(c.Base) < Enough:
		return outage + 2*o.Looks + mean
	default:
		gate := o.Looks + max(0, o.Looks-(len(c.Base)-1))
		return outage + gate + 2*(o.Looks+o.Looks/3) + mean
	}
}

// roundsOf returns the measurements of a case in the rounds of open limits. The rounds of
// the mean are the same ones.
func roundsOf(c Case, limits []Limit) int {
	n := 0
	for _, l := range limits {
		switch {
		case !l.Paired:
			n = max(n, Rounds)
		case len(c.Base) > 0 && !c.Gone:
			n = 2 * Rounds
		}
	}
	return n
}

// Usual estimates how many measurements this many cases take if nothing changed: half a
// measurement for a case without a history, and a sixth for one with it, as in the
// simulation of mixed cases. It estimates calls if it gets the number of calls for
// measuring each of them once, in the place of cases.
func Usual(without, with int) int { return (without+1)/2 + (with+5)/6 }
