package gitrepo

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's index ends with it
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// errIndexShort reports an index that ends too early.
var errIndexShort = errors.New("git's index is damaged; `git status` says more")

// The layout of an index: its header, the fixed part of an entry, and the place of mode,
// hash and flags in it.
const (
	indexHeader     = 12
	entryFixed      = 62
	entryMode       = 24
	entryHash       = 40
	entryFlags      = 60
	entryMoreFlags  = 0x4000
	entryNameLength = 0xfff
)

// An indexEntry is the new state of a file in git's index. The zero value removes it.
type indexEntry struct {
	Mode filemode.FileMode
	Hash plumbing.Hash
}

// changeIndex returns git's index with the entries of some files replaced. All other
// entries stay byte for byte, with their flags. It drops extensions that git makes again.
func changeIndex(old []byte, change map[string]indexEntry) ([]byte, error) {
	if len(old) == 0 { // there is none yet
		old = append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"), make([]byte, sha1.Size)...)
	}
	if len(old) < indexHeader+sha1.Size || string(old[:4]) != "DIRC" {
		return nil, errIndexShort
	}
	switch version := binary.BigEndian.Uint32(old[4:]); version {
	case 2, 3:
	default:
		return nil, fmt.Errorf("git's index has version %d, and gavel changes versions 2 and 3: run `git update-index --index-version 2`", version)
	}
	entries, rest, err := splitIndex(old[indexHeader:len(old)-sha1.Size], binary.BigEndian.Uint32(old[8:]))
	if err != nil {
		return nil, err
	}
	if err := droppable(rest); err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e rawEntry) bool { _, changed := change[e.name]; return changed })
	for _, name := range slices.Sorted(maps.Keys(change)) {
		for _, e := range entries {
			if strings.HasPrefix(e.name, name+"/") || strings.HasPrefix(name, e.name+"/") {
				return nil, fmt.Errorf("git's index has %s, so %s cannot be a file in it; commit with git", e.name, name)
			}
		}
		if to := change[name]; !to.Hash.IsZero() {
			entries = append(entries, rawEntry{name: name, text: to.encode(name)})
		}
	}
	slices.SortStableFunc(entries, func(a, b rawEntry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	out.Write(old[:8])
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(entries))))
	for _, e := range entries {
		out.Write(e.text)
	}
	sum := sha1.Sum(out.Bytes()) //nolint:gosec // git's index ends with it
	out.Write(sum[:])
	return out.Bytes(), nil
}

// A rawEntry is an entry of git's index as the index has it.
type rawEntry struct {
	name string
	text []byte
}

// stage returns the stage of the entry, which is 0 unless the file has a conflict.
func (e rawEntry) stage() int { return int(binary.BigEndian.Uint16(e.text[entryFlags:])>>12) & 3 }

// splitIndex returns the entries of an index, and the extensions behind them.
func splitIndex(data []byte, count uint32) (entries []rawEntry, rest []byte, err error) {
	for range count {
		if len(data) < entryFixed {
			return nil, nil, errIndexShort
		}
		at := entryFixed
		if binary.BigEndian.Uint16(data[entryFlags:])&entryMoreFlags != 0 {
			at += 2
		}
		if len(data) < at {
			return nil, nil, errIndexShort
		}
		length := bytes.IndexByte(data[at:], 0)
		end := (at + length + 8) / 8 * 8 // 1 to 8 zeros follow the name
		if length < 0 || end > len(data) {
			return nil, nil, errIndexShort
		}
		entries, data = append(entries, rawEntry{string(data[at : at+length]), data[:end]}), data[end:]
	}
	return entries, data, nil
}

// droppable refuses extensions without which the entries have another meaning.
func droppable(extensions []byte) error {
	for len(extensions) > 0 {
		if len(extensions) < 8 {
			return errIndexShort
		}
		name, size := string(extensions[:4]), int(binary.BigEndian.Uint32(extensions[4:]))
		switch {
		case name == "link":
			return errors.New("git's index is split: run `git update-index --no-split-index`")
		case name == "sdir":
			return errors.New("git's index is sparse: run `git sparse-checkout reapply --no-sparse-index`")
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("git's index has the extension %q, which gavel does not know; commit with git", name)
		case size > len(extensions)-8:
			return errIndexShort
		}
		extensions = extensions[8+size:]
	}
	return nil
}

// encode returns the entry of a file. It has no times, so that git compares the content.
func (to indexEntry) encode(name string) []byte {
	out := make([]byte, (entryFixed+len(name)+8)/8*8)
	binary.BigEndian.PutUint32(out[entryMode:], uint32(to.Mode))
	copy(out[entryHash:], to.Hash[:])
	binary.BigEndian.PutUint16(out[entryFlags:], uint16(min(len(name), entryNameLength)))
	copy(out[entryFixed:], name)
	return out
}
