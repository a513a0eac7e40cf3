package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// names is a file with the names under which the ledger has the repositories, by
// id: those under which each was first seen. So what is stored of a repository
// stays its own when it is renamed, and another one that takes the old name gets
// nothing of it.
type names struct {
	file string
	mu   sync.Mutex // held while the file is read and written
}

// of is the name that the ledger has of a repository, now is what it is called.
func (n *names) of(id int64, now string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := map[int64]string{}
	data, err := os.ReadFile(n.file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the names of repositories: %w; remove the file to begin anew", err)
	}
	if name := known[id]; name != "" {
		return name, nil
	}
	name := now
	for other, taken := range known {
		if taken == now && other != id {
			name = fmt.Sprintf("%s (%d)", now, id)
		}
	}
	known[id] = name
	if err := writeFile(n.file, known); err != nil {
		return "", fmt.Errorf("note the name of %s: %w", now, err)
	}
	return name, nil
}
