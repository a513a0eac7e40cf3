package explain

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// An Identity has the fields that a database would keep about a case in addition to its
// definition.
type Identity = report.Identity

// A History is the known past of a case's file.
type History struct {
	// Repository is owner/name, empty without a remote.
	Repository string
	Settings   schema.Settings
	// Versions are the states of a case's file, the latest first. Whole is false if
	// earlier versions are unavailable.
	Versions []Version
	Whole    bool
}

// A Version is the tree of a commit that changed a file.
type Version struct {
	FS fs.FS
	At time.Time

	cases map[string]*schema.Case // the file's cases by key, once read
}

// IdentityAt derives a case's identity from the commits up to HEAD.
func IdentityAt(ctx context.Context, repo *gitrepo.Repository, c *schema.Case, settings schema.Settings) (*Identity, error) {
	past, err := historyOf(ctx, repo, c.Origin.File, settings)
	if err != nil {
		return nil, err
	}
	return Identify(ctx, &c.CaseInfo, past)
}

// AddIdentities adds identities to the rows of testcases, from the commits up to HEAD.
// Every version of a file is read once for all of its cases.
func AddIdentities(ctx context.Context, repo *gitrepo.Repository, rows []report.Row, found *plan.Plan, settings schema.Settings) error {
	heads := map[string]*schema.CaseInfo{}
	for _, row := range found.Rows {
		if row.Head != nil {
			heads[row.Key] = row.Head
		}
	}
	pasts := map[string]History{}
	for i := range rows {
		c := heads[rows[i].Key]
		if c == nil || !c.Traits().Identified {
			continue
		}
		file := c.Origin.File
		past, known := pasts[file]
		if !known {
			var err error
			if past, err = historyOf(ctx, repo, file, settings); err != nil {
				return err
			}
			pasts[file] = past
		}
		var err error
		if rows[i].Identity, err = Identify(ctx, c, past); err != nil {
			return err
		}
	}
	return nil
}

// historyOf returns a file's history in the commits up to HEAD.
func historyOf(ctx context.Context, repo *gitrepo.Repository, file string, settings schema.Settings) (History, error) {
	past := History{Repository: repo.Name(), Settings: settings, Whole: true}
	if repo.Unborn() {
		return past, nil
	}
	head, err := repo.Resolve(ctx, "HEAD")
	if err != nil {
		return past, err
	}
	return historyAt(ctx, repo, CommitRef{repo.Name(), head}, origin{file, settings})
}

// A CommitRef is a commit of a repository, which is owner/name or empty.
type CommitRef struct{ Repository, Commit string }

// An origin is a file of definitions with the settings to read it.
type origin struct {
	file     string
	settings schema.Settings
}

// IdentityOf derives a case's identity from the commits up to a given one.
func IdentityOf(ctx context.Context, repo *gitrepo.Repository, at CommitRef, c *schema.Case, settings schema.Settings) (*Identity, error) {
	past, err := historyAt(ctx, repo, at, origin{c.Origin.File, settings})
	if err != nil {
		return nil, err
	}
	return Identify(ctx, &c.CaseInfo, past)
}

// historyAt returns a file's history up to a commit.
func historyAt(ctx context.Context, repo *gitrepo.Repository, at CommitRef, of origin) (History, error) {
	past := History{Repository: at.Repository, Settings: of.settings, Whole: true}
	versions, whole, err := repo.Versions(ctx, at.Commit, of.file)
	if err != nil {
		return past, err
	}
	past.Whole = whole
	for _, v := range versions {
		tree, err := repo.FS(v.Commit)
		if err != nil {
			return past, err
		}
		past.Versions = append(past.Versions, Version{FS: tree, At: v.At})
	}
	return past, nil
}

// Identify derives a case's identity. It reads the case in every version of its file: a
// change of the file may concern another case.
func Identify(ctx context.Context, c *schema.CaseInfo, h History) (*Identity, error) {
	id := &Identity{ID: c.Labels.ID}
	if id.ID == "" {
		id.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(h.Repository+"/"+c.Key)).String()
	}
	var next *schema.Case // the case in the following version
	for i := range h.Versions {
		v := &h.Versions[i]
		now, err := v.caseAt(ctx, c, h.Settings)
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

// caseAt returns the case in a version, or nil.
func (v *Version) caseAt(ctx context.Context, c *schema.CaseInfo, settings schema.Settings) (*schema.Case, error) {
	if v.cases == nil {
		loaded, err := load.Load(ctx, v.FS, load.Options{Settings: settings, Files: []string{c.Origin.File}})
		if err != nil {
			return nil, fmt.Errorf("load an earlier %s: %w", c.Origin.File, err)
		}
		v.cases = map[string]*schema.Case{}
		for _, one := range loaded.Cases {
			v.cases[one.Key] = one
		}
	}
	return v.cases[c.Key], nil
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
