package sandbox

import (
	"os"
)

func serveAttack() bool {
	_ = os.Args
	return false
}
