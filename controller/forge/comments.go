package forge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Comment is a comment on a pull request.
type Comment struct {
	ID int64
	// Number is the number of the pull request or issue.
	Number int
	// Author is the login, "" for a deleted account; AuthorID survives renames.
	Author   string
	AuthorID int64
	// Bot is true for an account that is not a person's.
	Bot  bool
	Body string
	// Created and Updated are the forge's times, in whole seconds.
	Created, Updated time.Time
}

// Edited reports whether the comment has changed since it was written.
func (c Comment) Edited() bool { return c.Updated.After(c.Created) }

type wireComment struct {
	ID      int64     `json:"id"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
	User    wireUser  `json:"user"`
	// Gitea sets one of the two, GitHub always the first.
	IssueURL string `json:"issue_url"`
	PullURL  string `json:"pull_request_url"`
}

func (w wireComment) comment() Comment {
	number, _ := strconv.Atoi(path.Base(cmp.Or(w.PullURL, w.IssueURL))) // 0 is not a pull request
	return Comment{
		ID: w.ID, Number: number, Author: w.User.Login, AuthorID: w.User.ID, Body: w.Body,
		Bot:     w.User.user().Bot,
		Created: w.Created, Updated: w.Updated,
	}
}

// Comments lists the comments on a pull request since a time, or all for the zero time,
// by id.
func (c *Client) Comments(ctx context.Context, repo Repo, number int, since time.Time) ([]Comment, error) {
	op := fmt.Sprintf("list the comments of %s#%d", repo, number)
	found, _, err := c.comments(ctx, repo, fmt.Sprintf("issues/%d/comments?%s", number, sinceQuery(since)), "")
	for i := range found {
		found[i].Number = number // whatever number the forge reports
	}
	return found, Explain(op, "pull-requests: read", err)
}

// RecentComments lists the repository's comments since a time, by id. tag is the result
// of the last call with the same time, or empty. With it, a forge without new comments
// answers for free, and the error is [ErrUnchanged].
func (c *Client) RecentComments(ctx context.Context, repo Repo, since time.Time, tag string) ([]Comment, string, error) {
	found, now, err := c.comments(ctx, repo, "issues/comments?sort=updated&direction=desc&"+sinceQuery(since), tag)
	if err == ErrUnchanged {
		return nil, tag, err
	}
	return found, now, Explain("list the comments of "+repo.String(), "pull-requests: read", err)
}

func sinceQuery(since time.Time) string {
	if since.IsZero() {
		return "per_page=100"
	}
	return "per_page=100&since=" + url.QueryEscape(since.UTC().Format(time.RFC3339))
}

func (c *Client) comments(ctx context.Context, repo Repo, path, tag string) (found []Comment, now string, err error) {
	now, err = each(ctx, c, listRequest{repo, path, tag}, func(w wireComment) { found = append(found, w.comment()) })
	if err != nil {
		return nil, now, err
	}
	slices.SortFunc(found, func(a, b Comment) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(found, func(a, b Comment) bool { return a.ID == b.ID }), now, nil
}

// Reactions lists an account's reactions to a comment, such as +1.
func (c *Client) Reactions(ctx context.Context, repo Repo, comment int64, login string) (found []string, err error) {
	path := fmt.Sprintf("issues/comments/%d/reactions?per_page=100", comment)
	_, err = each(ctx, c, listRequest{repo, path, ""}, func(r struct {
		Content string
		User    wireUser
	}) {
		if strings.EqualFold(r.User.Login, login) {
			found = append(found, r.Content)
		}
	})
	return found, Explain(fmt.Sprintf("list the reactions to comment %d", comment), "pull-requests: read", err)
}

// A CommitStatus is a commit's status in one context.
type CommitStatus struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
	Target      string `json:"target_url"`
}

// Statuses returns the latest status of a commit in each context, sorted by context.
func (c *Client) Statuses(ctx context.Context, repo Repo, sha string) ([]CommitStatus, error) {
	latest := map[string]CommitStatus{}
	at := map[string]int64{}
	_, err := each(ctx, c, listRequest{repo, "commits/" + sha + "/statuses?per_page=100", ""}, func(s struct {
		CommitStatus
		ID     int64  `json:"id"`
		Status string `json:"status"` // Gitea's name of the state
	}) {
		if s.ID >= at[s.Context] {
			s.State = cmp.Or(s.State, s.Status)
			latest[s.Context], at[s.Context] = s.CommitStatus, s.ID
		}
	})
	found := slices.SortedFunc(maps.Values(latest), func(a, b CommitStatus) int { return cmp.Compare(a.Context, b.Context) })
	return found, Explain("list the statuses of "+sha, "statuses: read", err)
}

// FirstStatus returns the forge's time of a commit's first status that counts, or the
// zero time if it has none.
func (c *Client) FirstStatus(ctx context.Context, repo Repo, sha string, counts func(context, target string) bool) (time.Time, error) {
	var first time.Time
	_, err := each(ctx, c, listRequest{repo, "commits/" + sha + "/statuses?per_page=100", ""}, func(s struct {
		Context string
		Target  string    `json:"target_url"`
		Created time.Time `json:"created_at"`
	}) {
		if counts(s.Context, s.Target) && (first.IsZero() || s.Created.Before(first)) {
			first = s.Created
		}
	})
	return first, Explain("list the statuses of "+sha, "statuses: read", err)
}
