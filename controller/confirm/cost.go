package confirm

// Bound returns the most measurements that a case can take beyond its first outcomes,
// of which only the number at base matters. Measurements that end in an error and are
// tried again are not counted.
func Bound(c Case, options Options) int {
	o := options.withDefaults()
	const outage, rounds = 1, 4 // an outage repeats head's first outcome, the mean takes two pairs
	switch {
	case c.Certain:
		return 0
	case len(c.Base) == 0:
		return outage + o.New.Runs - 1
	case c.Gone:
		return outage + goneRuns
	case c.Fresh:
		return 2*outage + 2*o.Looks
	case len(c.Base) < Enough:
		return outage + 2*o.Looks + rounds
	default:
		gate := o.Looks + max(0, o.Looks-(len(c.Base)-1))
		return outage + gate + 2*(o.Looks+o.Looks/3) + rounds
	}
}

// Usual estimates how many measurements this many cases take if nothing changed: half a
// measurement for a case without a history, and a sixth for one with it, as in the
// simulation of mixed cases. It estimates calls if it gets the number of calls for
// measuring each of them once, in the place of cases.
func Usual(without, with int) int { return (without+1)/2 + (with+5)/6 }
