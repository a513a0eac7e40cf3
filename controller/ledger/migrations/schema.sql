-- What the numbered scripts come to. The reasons are in these; go test . -update writes
-- this file.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL -- secret: 32 random bytes; created: a time in RFC 3339
) STRICT;

CREATE TABLE samples (
    id       INTEGER PRIMARY KEY,
    e        TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL CHECK (ordinal >= 0),
    ns       TEXT    NOT NULL,
    level    INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    created  INTEGER NOT NULL, chosen INTEGER NOT NULL DEFAULT 0,
    UNIQUE (e, ordinal, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

CREATE TABLE transcripts (
    sample INTEGER PRIMARY KEY REFERENCES samples (id),
    body   BLOB NOT NULL -- JSON of verdict.Transcript
) STRICT;

CREATE TABLE judgements (
    id      INTEGER PRIMARY KEY,
    j       TEXT    NOT NULL,
    sample  INTEGER NOT NULL REFERENCES samples (id),
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Judgement
    created INTEGER NOT NULL,
    UNIQUE (j, sample, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

CREATE TABLE verdicts (
    id      INTEGER PRIMARY KEY,
    d       TEXT    NOT NULL,
    last    INTEGER NOT NULL,
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    e       TEXT    NOT NULL,
    j       TEXT    NOT NULL,
    verdict TEXT    NOT NULL, -- this and the next two are in body too, and
    score   REAL,             -- stand here to be read quickly
    samples INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Decision
    oldest  INTEGER NOT NULL, -- when the oldest of the samples was made
    created INTEGER NOT NULL, case_id TEXT NOT NULL DEFAULT '', parts BLOB, commit_id TEXT NOT NULL DEFAULT '',
    UNIQUE (d, last, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

CREATE TABLE calls (
    id             INTEGER PRIMARY KEY,
    digest         TEXT    NOT NULL, -- E or J
    ordinal        INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    ns             TEXT    NOT NULL,
    level          INTEGER NOT NULL,
    role           TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    request_digest TEXT    NOT NULL,
    request        BLOB    NOT NULL, -- JSON
    reply          BLOB    NOT NULL, -- JSON
    created        INTEGER NOT NULL,
    UNIQUE (digest, ordinal, seq, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

CREATE TABLE runs (
    id           TEXT    PRIMARY KEY,
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL, -- 0 without one
    base         TEXT    NOT NULL,
    head         TEXT    NOT NULL,
    started      INTEGER NOT NULL,
    finished     INTEGER NOT NULL
) STRICT;

CREATE TABLE reports (
    run  TEXT PRIMARY KEY REFERENCES runs (id),
    body BLOB NOT NULL -- JSON of reporters.Report
, form INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE outbox (
    id             INTEGER PRIMARY KEY,
    run            TEXT    NOT NULL REFERENCES runs (id),
    destination    TEXT    NOT NULL,
    head           TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    body           BLOB    NOT NULL,
    created        INTEGER NOT NULL,
    published      INTEGER -- NULL until it is
, receipt TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE deliveries (
    id      TEXT    PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT;

CREATE TABLE wanted (
    run    TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run, digest)
) STRICT;

CREATE TABLE leases (
    epoch  INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT    NOT NULL,
    ns     TEXT    NOT NULL,
    owner  TEXT    NOT NULL, -- a run
    until  INTEGER NOT NULL,
    UNIQUE (digest, ns)
) STRICT;

CREATE TABLE underway (
    run   TEXT    PRIMARY KEY,
    ns    TEXT    NOT NULL,
    until INTEGER NOT NULL
) STRICT;

CREATE TABLE spending (
    account TEXT    PRIMARY KEY,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL
) STRICT;

CREATE TABLE commands (
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    comment      INTEGER NOT NULL,
    login        TEXT    NOT NULL,
    account      INTEGER NOT NULL,
    verb         TEXT    NOT NULL,
    argument     TEXT    NOT NULL,
    cases        TEXT    NOT NULL, -- JSON list of keys
    head         TEXT    NOT NULL, -- the commit that it is about
    refused      TEXT    NOT NULL, -- why it was not obeyed; empty where it was
    written      INTEGER NOT NULL, -- by the forge's clock
    taken        INTEGER NOT NULL, -- by ours
    answered     INTEGER,          -- NULL until the forge was told
    PRIMARY KEY (repository, comment)
) STRICT;

CREATE TABLE heads (
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    seen         INTEGER NOT NULL,
    PRIMARY KEY (repository, pull_request, head)
) STRICT;

CREATE TABLE claims (
    seq     INTEGER PRIMARY KEY,
    epoch   INTEGER NOT NULL REFERENCES leases (epoch) ON DELETE CASCADE,
    account TEXT    NOT NULL,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL,
    UNIQUE (epoch, account)
) STRICT;

CREATE TABLE pieces (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE, -- SHA-256 of the piece
    body   BLOB NOT NULL         -- the piece, packed
) STRICT;

CREATE TABLE report_pieces (
    run   TEXT    NOT NULL REFERENCES reports (run),
    place INTEGER NOT NULL, -- counted from 0
    piece INTEGER NOT NULL REFERENCES pieces (id),
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE served_repositories (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE schedules (
    repository INTEGER NOT NULL,
    branch     TEXT    NOT NULL,
    judged     INTEGER NOT NULL, -- in nanoseconds
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE suspects (
    repository   INTEGER NOT NULL,
    pull_request INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    ended        INTEGER NOT NULL, -- how many child processes
    at           INTEGER NOT NULL, -- when the last of them ended, 0 for never
    noted        INTEGER NOT NULL, -- when the row was written
    PRIMARY KEY (repository, pull_request, head)
) STRICT, WITHOUT ROWID;

CREATE TABLE histories (
    j     TEXT    NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (j, since)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_started ON runs (started);

CREATE INDEX outbox_destination ON outbox (destination, id);

CREATE INDEX outbox_pending ON outbox (id) WHERE published IS NULL;

CREATE INDEX leases_owner ON leases (owner);

CREATE INDEX wanted_digest ON wanted (digest);

CREATE INDEX commands_pull_request ON commands (repository, pull_request, comment);

CREATE INDEX verdicts_case ON verdicts (case_id, id);

CREATE INDEX report_pieces_piece ON report_pieces (piece);

CREATE INDEX runs_pull ON runs (repository, pull_request, started, id);

CREATE INDEX outbox_run ON outbox (run);
