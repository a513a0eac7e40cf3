-- What gavel serve keeps from one start to the next. A repository is the id that
-- the server gives it, which survives renames.

-- The name under which the ledger has each repository: the first one that it had.
CREATE TABLE served_repositories (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Up to when the schedule had each branch judged.
CREATE TABLE schedules (
    repository INTEGER NOT NULL,
    branch     TEXT    NOT NULL,
    judged     INTEGER NOT NULL, -- in nanoseconds
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

-- Heads that somebody still has to finish: their statuses may be pending, or their
-- check run is requested again.
CREATE TABLE pending_heads (
    repository   INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    pull_request INTEGER NOT NULL, -- 0 for none
    ref          TEXT    NOT NULL, -- a branch, or empty
    head         TEXT    NOT NULL,
    seen         INTEGER NOT NULL, -- when it was first looked at, 0 where that is not known
    contexts     TEXT    NOT NULL, -- JSON list: the statuses of its groups
    PRIMARY KEY (repository, kind, pull_request, ref, head)
) STRICT, WITHOUT ROWID;

-- Heads that are being judged, and those that ended a process.
CREATE TABLE suspects (
    repository   INTEGER NOT NULL,
    pull_request INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    ended        INTEGER NOT NULL, -- how many child processes
    at           INTEGER NOT NULL, -- when the last of them ended, 0 for never
    noted        INTEGER NOT NULL, -- when the row was written
    PRIMARY KEY (repository, pull_request, head)
) STRICT, WITHOUT ROWID;
