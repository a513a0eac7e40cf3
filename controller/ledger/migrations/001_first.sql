-- The ledger is append-only: what was judged is never changed. Every entry
-- carries the trust it was made under; ns separates what untrusted heads wrote
-- ("owner/name#7") from everything else (""). Times are Unix milliseconds,
-- durations nanoseconds, digests hex SHA-256.

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
    created  INTEGER NOT NULL,
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
-- old; last is the highest ordinal that the decision rests on.
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
    UNIQUE (d, last, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;

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

CREATE TABLE reports (
    run  TEXT PRIMARY KEY REFERENCES runs (id),
    body BLOB NOT NULL -- JSON of reporters.Report
) STRICT;

-- What is still to be published, written together with the report it shows.
CREATE TABLE outbox (
    id             INTEGER PRIMARY KEY,
    run            TEXT    NOT NULL REFERENCES runs (id),
    destination    TEXT    NOT NULL,
    head           TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    body           BLOB    NOT NULL,
    created        INTEGER NOT NULL,
    published      INTEGER -- NULL until it is
) STRICT;
CREATE INDEX outbox_destination ON outbox (destination, id);
CREATE INDEX outbox_pending ON outbox (id) WHERE published IS NULL;

-- Events of the forge that were seen.
CREATE TABLE deliveries (
    id      TEXT    PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT;

-- Who works on what. An untrusted execution has a lease of its own, so that it
-- never holds up a trusted one.
CREATE TABLE leases (
    digest  TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    ns      TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    epoch   INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    PRIMARY KEY (digest, ordinal, ns)
) STRICT;

-- Which runs still want which digest.
CREATE TABLE wanted (
    run    TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run, digest)
) STRICT;
