-- The ledger is append-only: what was judged is never changed. Every entry
-- carries the trust it was made under; ns separates what untrusted heads wrote
-- ("owner/name#7") from everything else (""). Times are Unix milliseconds,
-- durations nanoseconds, digests hex SHA-256.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL -- secret: 32 random bytes; created: a time in RFC 3339
) STRICT;

-- A sample that was taken because of an outcome, such as in a rerun of what failed, says
-- less than others about how often a case passes.
CREATE TABLE samples (
    id       INTEGER PRIMARY KEY,
    e        TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL CHECK (ordinal >= 0),
    ns       TEXT    NOT NULL,
    level    INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    chosen   INTEGER NOT NULL DEFAULT 0, -- 1 for one that was taken because of an outcome
    UNIQUE (e, ordinal, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

-- Transcripts stand apart, so that the rows which are searched stay small.
CREATE TABLE transcripts (
    sample INTEGER PRIMARY KEY REFERENCES samples (id),
    body   BLOB NOT NULL -- JSON of verdict.Transcript
) STRICT;

-- A judgement names the very sample that was judged: two namespaces may have
-- samples of one ordinal, and what was measured on one says nothing about the
-- other.
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

-- A digest is decided again on later samples when the earlier ones are too
-- old; last is the highest ordinal that the decision rests on. parts say what the
-- case consisted of, so that a later plan can say what changed since.
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
    created INTEGER NOT NULL,
    case_id TEXT NOT NULL DEFAULT '', -- its repository and its ID, a line each
    parts   BLOB, -- JSON of plan.Part, without files; NULL if they are not known
    commit_id TEXT NOT NULL DEFAULT '', -- the commit that the case was of; empty if it is not known
    UNIQUE (d, last, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;
CREATE INDEX verdicts_case ON verdicts (case_id, id);

-- The call journal: a reply is here before it is used.
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
CREATE INDEX runs_started ON runs (started);
-- Old runs are looked for after every run.
CREATE INDEX runs_pull ON runs (repository, pull_request, started, id);

-- Reports share the pieces that are equal in them.
CREATE TABLE reports (
    run  TEXT PRIMARY KEY REFERENCES runs (id),
    body BLOB NOT NULL -- JSON of report.Report without its pieces, packed
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
CREATE INDEX report_pieces_piece ON report_pieces (piece);

-- What is still to be published, written together with the report it shows.
CREATE TABLE outbox (
    id             INTEGER PRIMARY KEY,
    run            TEXT    NOT NULL REFERENCES runs (id),
    destination    TEXT    NOT NULL,
    head           TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    body           BLOB    NOT NULL,
    created        INTEGER NOT NULL,
    published      INTEGER, -- NULL until it is
    receipt        TEXT    NOT NULL DEFAULT '' -- names it where it was published, such as the id of a comment
) STRICT;
CREATE INDEX outbox_destination ON outbox (destination, id);
CREATE INDEX outbox_pending ON outbox (id) WHERE published IS NULL;
CREATE INDEX outbox_run ON outbox (run);

-- Events of the forge that were seen.
CREATE TABLE deliveries (
    id      TEXT    PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT;

-- Leases say who works on what. An untrusted execution has a lease of its own, so that
-- it never holds up a trusted one. A lease is numbered with an epoch that no other ever
-- had: a holder that was taken for dead is known by it. One lease covers all that is
-- made of an execution digest, for its samples are stored together and the attempts
-- after them rest on them.
CREATE TABLE leases (
    epoch  INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT    NOT NULL,
    ns     TEXT    NOT NULL,
    owner  TEXT    NOT NULL, -- a run
    until  INTEGER NOT NULL,
    UNIQUE (digest, ns)
) STRICT;
CREATE INDEX leases_owner ON leases (owner);

-- The runs that are under way, as long as they say so.
CREATE TABLE underway (
    run   TEXT    PRIMARY KEY,
    ns    TEXT    NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- Which runs still want which digest.
CREATE TABLE wanted (
    run    TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (digest, run)
) STRICT, WITHOUT ROWID;

-- What calls took, by the account that they are counted on. What is reserved
-- for calls under way is in it.
CREATE TABLE spending (
    account TEXT    PRIMARY KEY,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL
) STRICT;

-- What people asked for in comments on pull requests. A repository is named by
-- its forge and its id there, which survives renames. Rows stay as they were
-- written but for answered.
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
CREATE INDEX commands_pull_request ON commands (repository, pull_request, comment);

-- When each head of a pull request was first seen.
CREATE TABLE heads (
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    seen         INTEGER NOT NULL,
    PRIMARY KEY (repository, pull_request, head)
) STRICT;

-- What cases under way are likely to take still, beside what is counted as
-- spent, in the order in which they were let in. A claim ends with the lease
-- on the case, and so with its run.
CREATE TABLE claims (
    seq     INTEGER PRIMARY KEY,
    epoch   INTEGER NOT NULL REFERENCES leases (epoch) ON DELETE CASCADE,
    account TEXT    NOT NULL,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL,
    UNIQUE (epoch, account)
) STRICT;

-- Base was found to differ from what is stored of it: of a judgement digest nothing that
-- is older is compared with from then on.
CREATE TABLE histories (
    j     TEXT    NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (j, since)
) STRICT, WITHOUT ROWID;

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
