package cuefile

import "time"

// init gives a file of the tests less time, since one that is endless takes all that it has.
// A script of the command line has such a file take the whole.
func init() { pool.MaxTime = 2 * time.Second }
