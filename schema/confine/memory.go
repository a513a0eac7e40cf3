package confine

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Memory ends this process with an exit code once it takes more than the given number
// of bytes. If possible, the kernel bounds a single allocation: then Go's runtime ends
// the process, with the code [FatalCode].
func Memory(most uint64, code int) {
	// Below the limit the collector works harder, so that garbage does not count; it
	// stops nothing by itself.
	debug.SetMemoryLimit(int64(most * 3 / 4)) //nolint:gosec // bounds are constants
	_ = boundAddresses(most)                  // on other systems than Linux the watch remains
	go func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for range time.Tick(5 * time.Millisecond) {
			metrics.Read(samples)
			if samples[0].Value.Uint64()-samples[1].Value.Uint64() > most {
				os.Exit(code)
			}
		}
	}()
}

// FatalCode is the exit code of Go's runtime when it gets no memory or a stack grows
// too large. It cannot be caught.
const FatalCode = 2
