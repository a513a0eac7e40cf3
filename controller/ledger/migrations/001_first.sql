-- The ledger is append-only: what was judged is never changed. Every entry
-- carries the trust it was made under; ns separates what untrusted heads wrote
-- ("owner/name#7") from everything else ("").

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
);

-- Bodies stand apart, so that the rows which are searched stay small.
CREATE TABLE transcripts (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL -- JSON of verdict.Transcript
);

CREATE TABLE samples (
    id            INTEGER PRIMARY KEY,
    e             TEXT    NOT NULL,
    ordinal       INTEGER NOT NULL,
    ns            TEXT    NOT NULL,
    level         INTEGER NOT NULL,
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id),
    duration      INTEGER NOT NULL, -- nanoseconds
    created       INTEGER NOT NULL, -- Unix milliseconds
    UNIQUE (e, ordinal, ns)
);

CREATE TABLE judgements (
    id      INTEGER PRIMARY KEY,
    j       TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Judgement
    created INTEGER NOT NULL,
    UNIQUE (j, ordinal, ns)
);

CREATE TABLE verdicts (
    id      INTEGER PRIMARY KEY,
    d       TEXT    NOT NULL,
    e       TEXT    NOT NULL,
    j       TEXT    NOT NULL,
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Decision
    created INTEGER NOT NULL
);
CREATE INDEX verdicts_d ON verdicts (d);

-- The call journal: a reply is here before it is used.
CREATE TABLE calls (
    id             INTEGER PRIMARY KEY,
    digest         TEXT    NOT NULL, -- E or J
    ordinal        INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    role           TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    ns             TEXT    NOT NULL,
    level          INTEGER NOT NULL,
    request_digest TEXT    NOT NULL,
    request        BLOB    NOT NULL,
    reply          BLOB    NOT NULL,
    created        INTEGER NOT NULL,
    UNIQUE (digest, ordinal, seq, ns)
);

CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    base         TEXT    NOT NULL,
    head         TEXT    NOT NULL,
    started      INTEGER NOT NULL,
    finished     INTEGER NOT NULL
);
CREATE INDEX runs_started ON runs (started);

CREATE TABLE reports (
    run  TEXT PRIMARY KEY REFERENCES runs (id),
    body BLOB NOT NULL -- JSON of reporters.Report
);

CREATE TABLE outbox (
    id             INTEGER PRIMARY KEY,
    run            TEXT    NOT NULL REFERENCES runs (id),
    destination    TEXT    NOT NULL,
    head           TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    body           BLOB    NOT NULL,
    created        INTEGER NOT NULL,
    published      INTEGER, -- NULL until it is
    UNIQUE (destination, head, content_digest)
);

CREATE TABLE deliveries (
    id      TEXT PRIMARY KEY,
    created INTEGER NOT NULL
);

CREATE TABLE leases (
    digest  TEXT    NOT NULL,
    ordinal INTEGER NOT NULL,
    owner   TEXT    NOT NULL,
    epoch   INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    PRIMARY KEY (digest, ordinal)
);

CREATE TABLE wanted (
    run    TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run, digest)
);
