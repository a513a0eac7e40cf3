package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
)

// caseID names a case in the ledger, which may serve several repositories.
func caseID(repository, id string) string {
	return repository + "\n" + strings.ReplaceAll(id, "\x00", "\n")
}

const (
	// partSure is how long a process relies on a part that it stored. The part is stored
	// again after it.
	partSure = time.Hour
	// partKept is how long a part without a verdict stays: much longer than partSure, so
	// that no process relies on one that another removes.
	partKept = 24 * time.Hour
	// mostParts bounds how many stored parts are remembered.
	mostParts = 1 << 15
	// partKeys is the first byte of a list of keys. JSON begins with another one.
	partKeys = 1
	// keySize is the size of a key in bytes.
	keySize = 8
)

// An outline is the stored form of a part: enough to find out whether it changed.
type outline struct {
	Layer  plan.Layer
	Name   string
	Of     string
	Number int
	Digest string
	Show   string
}

func outlineOf(p plan.Part) outline {
	return outline{p.Layer, p.Name, p.Of, p.Number, p.Digest[:min(len(p.Digest), plan.OutlineDigits)], p.Show}
}

func (o outline) part() plan.Part {
	return plan.Part{Layer: o.Layer, Name: o.Name, Of: o.Of, Number: o.Number, Digest: o.Digest, Show: o.Show}
}

// A storedPart is a row of parts.
type storedPart struct {
	outline
	key  int64
	body []byte
}

func newStoredPart(o outline) (storedPart, error) {
	body, err := json.Marshal(o.part())
	sum := sha256.Sum256(body)
	return storedPart{o, int64(binary.BigEndian.Uint64(sum[:])), body}, err //nolint:gosec // all 64 bits are the key
}

// knownParts are the parts that a process stored lately. The zero value has none. Its
// methods are safe for concurrent use.
type knownParts struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	seeds [2]maphash.Seed // of this process, so that nobody can choose two parts of one hash
	known map[[2]uint64]knownPart
}

// A knownPart is small, since most parts of a first run are in no other case.
type knownPart struct {
	key   int64
	since int64 // Unix milliseconds
}

// hash identifies a part. The caller holds the lock, and known is not nil.
func (k *knownParts) hash(o outline) [2]uint64 {
	return [2]uint64{maphash.Comparable(k.seeds[0], o), maphash.Comparable(k.seeds[1], o)}
}

// clear forgets all parts. The caller holds the lock.
func (k *knownParts) clear() {
	k.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	k.known = map[[2]uint64]knownPart{}
}

// encode returns the keys of the parts of a case for its verdict, and the parts that have
// to be stored with it, by their keys.
func (k *knownParts) encode(parts []plan.Part, now time.Time) (keys []byte, unsure []storedPart, err error) {
	keys = append(make([]byte, 0, 1+keySize*len(parts)), partKeys)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.clear()
	}
	for _, p := range parts {
		o := outlineOf(p)
		known, ok := k.known[k.hash(o)]
		if age := now.UnixMilli() - known.since; !ok || age < 0 || age > partSure.Milliseconds() {
			s, err := newStoredPart(o)
			if err != nil {
				return nil, nil, fmt.Errorf("part %s: %w", p.Name, err)
			}
			unsure, known.key = append(unsure, s), s.key
		}
		keys = binary.BigEndian.AppendUint64(keys, uint64(known.key)) //nolint:gosec // all 64 bits are the key
	}
	// Transactions that store the same parts wait for each other in one order.
	slices.SortFunc(unsure, func(a, b storedPart) int { return cmp.Compare(a.key, b.key) })
	unsure = slices.CompactFunc(unsure, func(a, b storedPart) bool { return a.key == b.key })
	return keys, unsure, nil
}

// stored remembers parts that were stored, at the time when they were encoded.
func (k *knownParts) stored(parts []storedPart, since time.Time) {
	if len(parts) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) > mostParts {
		k.clear()
	}
	for _, p := range parts {
		k.known[k.hash(p.outline)] = knownPart{p.key, since.UnixMilli()}
	}
}

// insertParts stores the parts that the process is not sure of.
func (s *outcomeRow) insertParts(t *store.Tx) error {
	for _, p := range s.unsure {
		err := t.Exec("INSERT INTO parts (key, body, touched) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET touched = excluded.touched", p.key, p.body, s.now)
		if err != nil {
			return fmt.Errorf("part %s: %w", p.Name, err)
		}
	}
	return nil
}

// decodeKeys returns the keys of the parts of a verdict; false if it has JSON instead.
func decodeKeys(body []byte) (keys []int64, ok bool) {
	if len(body) == 0 || body[0] != partKeys || len(body)%keySize != 1 {
		return nil, false
	}
	for rest := body[1:]; len(rest) > 0; rest = rest[keySize:] {
		keys = append(keys, int64(binary.BigEndian.Uint64(rest))) //nolint:gosec // all 64 bits are the key
	}
	return keys, true
}

// LastParts returns the parts of each case at its latest decision that the scope may
// see, whatever its age. It is parallel to the IDs; nil represents a case that never
// existed.
func (l *Ledger) LastParts(ctx context.Context, scope Scope, ids []string) ([][]plan.Part, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = caseID(scope.Trust.Repository, id)
	}
	found, keys := make([][]plan.Part, len(ids)), make([][]int64, len(ids))
	parts := map[int64]*plan.Part{}
	err := l.bulk(ctx, names, func(rows *sql.Rows) error {
		var i int
		var body sql.RawBytes
		if err := rows.Scan(&i, &body); err != nil {
			return err
		}
		named, ok := decodeKeys(body)
		if !ok {
			if err := json.Unmarshal(body, &found[i]); err != nil {
				return fmt.Errorf("parts of %s: %w", ids[i], err)
			}
			return nil
		}
		keys[i] = named
		for _, key := range named {
			parts[key] = nil
		}
		return nil
	}, `SELECT q.key, v.parts FROM json_each(?2) q JOIN verdicts v ON v.id =
		(SELECT max(id) FROM verdicts WHERE case_id = q.value AND ns IN ('', ?1)) WHERE v.parts IS NOT NULL`, scope.Namespace())
	if err == nil {
		err = l.readParts(ctx, parts)
	}
	for i, named := range keys {
		if named == nil || err != nil {
			continue
		}
		found[i] = make([]plan.Part, len(named))
		for k, key := range named {
			p := parts[key]
			if p == nil {
				err = fmt.Errorf("parts of %s: part %d is missing; gavel ledger verify lists what is", ids[i], k+1)
				break
			}
			found[i][k] = *p
		}
	}
	return found, l.store.Fault("read the parts of cases", err)
}

// readParts reads the parts with the keys.
func (l *Ledger) readParts(ctx context.Context, parts map[int64]*plan.Part) error {
	keys := make([]int64, 0, len(parts))
	for key := range parts {
		keys = append(keys, key)
	}
	for some := range slices.Chunk(keys, atOnce) {
		list, err := json.Marshal(some)
		if err != nil {
			return err
		}
		err = l.store.Each(ctx, func(rows *sql.Rows) error {
			var key int64
			var body sql.RawBytes
			if err := rows.Scan(&key, &body); err != nil {
				return err
			}
			p := &plan.Part{}
			if err := json.Unmarshal(body, p); err != nil {
				return fmt.Errorf("part %d: %w", key, err)
			}
			parts[key] = p
			return nil
		}, "SELECT key, body FROM parts WHERE key IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", string(list))
		if err != nil {
			return err
		}
	}
	return nil
}

// usedParts returns the keys of the parts of all verdicts.
func (l *Ledger) usedParts(ctx context.Context) (map[int64]bool, error) {
	return keysIn(func(do func(*sql.Rows) error) error {
		return l.store.Each(ctx, do, "SELECT parts FROM verdicts WHERE parts IS NOT NULL")
	})
}

// keysIn returns the keys in the rows of a query for parts of verdicts.
func keysIn(each func(func(*sql.Rows) error) error) (map[int64]bool, error) {
	used := map[int64]bool{}
	return used, each(func(rows *sql.Rows) error {
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return err
		}
		keys, _ := decodeKeys(body)
		for _, key := range keys {
			used[key] = true
		}
		return nil
	})
}

// collectParts removes the parts that no verdict has. One that was touched lately may be of
// a verdict that is being stored.
func (l *Ledger) collectParts(ctx context.Context) error {
	before := l.now().Add(-partKept).UnixMilli()
	var old []int64
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var key int64
		err := rows.Scan(&key)
		old = append(old, key)
		return err
	}, "SELECT key FROM parts WHERE touched < ?", before)
	if err != nil || len(old) == 0 {
		return err
	}
	used, err := l.usedParts(ctx)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(key int64) bool { return used[key] })
	for some := range slices.Chunk(old, atOnce) {
		list, err := json.Marshal(some)
		if err != nil {
			return err
		}
		// A part may have been needed again since.
		err = l.store.Submit(ctx, func(t *store.Tx) error {
			return t.Exec("DELETE FROM parts WHERE key IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND touched < ?", string(list), before)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
