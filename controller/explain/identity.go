package explain

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// An Identity is what a database would keep of a case besides its definition:
// the fields that the testcase format calls generated.
type Identity struct {
	// ID is the one that the definition carries, else the UUIDv5 of repository
	// and key.
	ID string `json:"id"`
	// Created is when the first commit was made that has the case, and Updated
	// when the last one was that changed it. null where the history at hand does
	// not say.
	Created *time.Time `json:"created_at"`
	Updated *time.Time `json:"updated_at"`
}

// A History is what is known of the past of a repository.
type History struct {
	// Repository is owner/name, empty for one without a remote.
	Repository string
	Settings   schema.Settings
	// Versions are the states of a case's file, the latest first. Whole is false
	// where there were earlier ones that are not at hand.
	Versions []Version
	Whole    bool
}

// A Version is the tree of a commit that changed a file.
type Version struct {
	FS fs.FS
	At time.Time
}

// IdentityAt finds out who a case is from the commits up to HEAD.
func IdentityAt(ctx context.Context, repo *gitrepo.Repository, c *schema.Case, settings schema.Settings) (*Identity, error) {
	past := History{Repository: repo.Name(), Settings: settings, Whole: true}
	if repo.Unborn() {
		return Identify(ctx, c, past)
	}
	head, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	versions, whole, err := repo.Versions(ctx, head, c.Origin.File)
	if err != nil {
		return nil, err
	}
	past.Whole = whole
	for _, v := range versions {
		tree, err := repo.FS(v.Commit)
		if err != nil {
			return nil, err
		}
		past.Versions = append(past.Versions, Version{FS: tree, At: v.At})
	}
	return Identify(ctx, c, past)
}

// Identify finds out who a case is. The case is read in every version of its
// file: another case of the file may have changed.
func Identify(ctx context.Context, c *schema.Case, h History) (*Identity, error) {
	id := &Identity{ID: c.Labels.ID}
	if id.ID == "" {
		id.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(h.Repository+"/"+c.Key)).String()
	}
	var next *schema.Case // as the version after the one at hand has it
	for i := range h.Versions {
		v := &h.Versions[i]
		now, err := at(ctx, v.FS, c, h.Settings)
		if err != nil {
			return nil, err
		}
		if id.Updated == nil && next != nil && !same(now, next) {
			id.Updated = &h.Versions[i-1].At
		}
		if now != nil {
			id.Created = &v.At
		}
		next = now
	}
	if id.Updated == nil && next != nil && h.Whole {
		id.Updated = &h.Versions[len(h.Versions)-1].At
	}
	if !h.Whole {
		id.Created = nil
	}
	return id, nil
}

// at is the case in a tree; nil where it is not there.
func at(ctx context.Context, tree fs.FS, c *schema.Case, settings schema.Settings) (*schema.Case, error) {
	loaded, err := load.Load(ctx, tree, load.Options{Settings: settings, Files: []string{c.Origin.File}})
	if err != nil {
		return nil, fmt.Errorf("load an earlier %s: %w", c.Origin.File, err)
	}
	for _, one := range loaded.Cases {
		if one.Key == c.Key {
			return one, nil
		}
	}
	return nil, nil
}

// same reports whether two versions of a case differ at most in their place.
func same(a, b *schema.Case) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Origin, y.Origin = schema.Position{}, schema.Position{}
	return reflect.DeepEqual(x, y)
}
