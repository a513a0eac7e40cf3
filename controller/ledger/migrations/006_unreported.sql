-- What runs have spent that have no report: they are in progress, or were interrupted. Each
-- writer has a row, so that processes with the same run do not wait for one another.
CREATE TABLE unreported (
    run          TEXT    NOT NULL,
    writer       TEXT    NOT NULL, -- its name in underway
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL, -- 0 without one
    base         TEXT    NOT NULL,
    head         TEXT    NOT NULL,
    started      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    calls        INTEGER NOT NULL,
    tokens       INTEGER NOT NULL,
    usd          REAL    NOT NULL,
    unpriced     INTEGER NOT NULL, -- how many of the calls have no known price
    PRIMARY KEY (run, writer)
) STRICT, WITHOUT ROWID;
