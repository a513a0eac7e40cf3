-- Digests are the bytes of a SHA-256, which are half as many as its digits. Tables are made
-- again in the order in which others refer to them.

CREATE TABLE samples_next (
    id       INTEGER PRIMARY KEY,
    e        BLOB    NOT NULL,
    ordinal  INTEGER NOT NULL CHECK (ordinal >= 0),
    ns       TEXT    NOT NULL,
    level    INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    chosen   INTEGER NOT NULL DEFAULT 0, -- 1 for one that was taken because of an outcome
    UNIQUE (e, ordinal, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;
INSERT INTO samples_next SELECT id, iif(length(e) = 64, coalesce(unhex(e), CAST(e AS BLOB)), CAST(e AS BLOB)), ordinal, ns, level, duration, created, chosen FROM samples ORDER BY id;

CREATE TABLE transcripts_next (
    sample INTEGER PRIMARY KEY REFERENCES samples_next (id),
    body   BLOB NOT NULL -- JSON of verdict.Transcript
) STRICT;
INSERT INTO transcripts_next SELECT sample, body FROM transcripts ORDER BY sample;
DROP TABLE transcripts;

CREATE TABLE judgements_next (
    id      INTEGER PRIMARY KEY,
    j       BLOB    NOT NULL,
    sample  INTEGER NOT NULL REFERENCES samples_next (id),
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Judgement
    created INTEGER NOT NULL,
    UNIQUE (j, sample, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;
INSERT INTO judgements_next SELECT id, iif(length(j) = 64, coalesce(unhex(j), CAST(j AS BLOB)), CAST(j AS BLOB)), sample, ns, level, body, created FROM judgements ORDER BY id;
DROP TABLE judgements;

DROP TABLE samples;
ALTER TABLE samples_next RENAME TO samples;
ALTER TABLE transcripts_next RENAME TO transcripts;
ALTER TABLE judgements_next RENAME TO judgements;

CREATE TABLE verdicts_next (
    id      INTEGER PRIMARY KEY,
    d       BLOB    NOT NULL,
    last    INTEGER NOT NULL,
    ns      TEXT    NOT NULL,
    level   INTEGER NOT NULL,
    e       BLOB    NOT NULL,
    j       BLOB    NOT NULL,
    verdict TEXT    NOT NULL, -- this and the next two are in body too, and
    score   REAL,             -- are here to be read quickly
    samples INTEGER NOT NULL,
    body    BLOB    NOT NULL, -- JSON of Decision
    oldest  INTEGER NOT NULL, -- when the oldest of the samples was made
    created INTEGER NOT NULL,
    case_id TEXT NOT NULL DEFAULT '', -- its repository and its ID, a line each
    parts   BLOB, -- the keys of its parts, see 003; NULL if they are not known
    commit_id TEXT NOT NULL DEFAULT '', -- the commit that the case was of; empty if it is not known
    UNIQUE (d, last, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;
INSERT INTO verdicts_next SELECT id, iif(length(d) = 64, coalesce(unhex(d), CAST(d AS BLOB)), CAST(d AS BLOB)), last, ns, level,
    iif(length(e) = 64, coalesce(unhex(e), CAST(e AS BLOB)), CAST(e AS BLOB)), iif(length(j) = 64, coalesce(unhex(j), CAST(j AS BLOB)), CAST(j AS BLOB)),
    verdict, score, samples, body, oldest, created, case_id, parts, commit_id FROM verdicts ORDER BY id;
DROP TABLE verdicts;
ALTER TABLE verdicts_next RENAME TO verdicts;
CREATE INDEX verdicts_case ON verdicts (case_id, id);

CREATE TABLE calls_next (
    id             INTEGER PRIMARY KEY,
    digest         BLOB    NOT NULL, -- E or J
    ordinal        INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    ns             TEXT    NOT NULL,
    level          INTEGER NOT NULL,
    role           TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    request_digest BLOB    NOT NULL,
    request        BLOB    NOT NULL, -- JSON
    reply          BLOB    NOT NULL, -- JSON
    created        INTEGER NOT NULL,
    UNIQUE (digest, ordinal, seq, ns),
    CHECK ((ns = '') = (level >= 2))
) STRICT;
INSERT INTO calls_next SELECT id, iif(length(digest) = 64, coalesce(unhex(digest), CAST(digest AS BLOB)), CAST(digest AS BLOB)), ordinal, seq, ns, level, role, attempt,
    iif(length(request_digest) = 64, coalesce(unhex(request_digest), CAST(request_digest AS BLOB)), CAST(request_digest AS BLOB)), request, reply, created FROM calls ORDER BY id;
DROP TABLE calls;
ALTER TABLE calls_next RENAME TO calls;

-- The number of the last epoch stays: none is given twice.
CREATE TABLE leases_next (
    epoch  INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB    NOT NULL,
    ns     TEXT    NOT NULL,
    owner  TEXT    NOT NULL, -- a run
    until  INTEGER NOT NULL,
    UNIQUE (digest, ns)
) STRICT;
INSERT INTO sqlite_sequence (name, seq) SELECT 'leases_next', seq FROM sqlite_sequence WHERE name = 'leases';
INSERT INTO leases_next SELECT epoch, iif(length(digest) = 64, coalesce(unhex(digest), CAST(digest AS BLOB)), CAST(digest AS BLOB)), ns, owner, until FROM leases;
CREATE TABLE claims_next (
    seq     INTEGER PRIMARY KEY,
    epoch   INTEGER NOT NULL REFERENCES leases_next (epoch) ON DELETE CASCADE,
    account TEXT    NOT NULL,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL,
    UNIQUE (epoch, account)
) STRICT;
INSERT INTO claims_next SELECT seq, epoch, account, calls, tokens, usd FROM claims;
DROP TABLE claims;
DROP TABLE leases;
ALTER TABLE leases_next RENAME TO leases;
ALTER TABLE claims_next RENAME TO claims;
CREATE INDEX leases_owner ON leases (owner);

CREATE TABLE wanted_next (
    run    TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (digest, run)
) STRICT, WITHOUT ROWID;
INSERT INTO wanted_next SELECT run, iif(length(digest) = 64, coalesce(unhex(digest), CAST(digest AS BLOB)), CAST(digest AS BLOB)) FROM wanted;
DROP TABLE wanted;
ALTER TABLE wanted_next RENAME TO wanted;

CREATE TABLE histories_next (
    j     BLOB    NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (j, since)
) STRICT, WITHOUT ROWID;
INSERT INTO histories_next SELECT iif(length(j) = 64, coalesce(unhex(j), CAST(j AS BLOB)), CAST(j AS BLOB)), since FROM histories;
DROP TABLE histories;
ALTER TABLE histories_next RENAME TO histories;

CREATE TABLE failures_next (
    id      INTEGER PRIMARY KEY,
    e       BLOB    NOT NULL,
    ns      TEXT    NOT NULL,
    source  TEXT    NOT NULL, -- the target of the case
    symptom TEXT    NOT NULL, -- the same for errors that may have one cause
    retry   INTEGER NOT NULL, -- 1 for one that may not occur again
    created INTEGER NOT NULL,
    UNIQUE (e, ns, created)
) STRICT;
INSERT INTO failures_next SELECT id, iif(length(e) = 64, coalesce(unhex(e), CAST(e AS BLOB)), CAST(e AS BLOB)), ns, source, symptom, retry, created FROM failures;
DROP TABLE failures;
ALTER TABLE failures_next RENAME TO failures;
