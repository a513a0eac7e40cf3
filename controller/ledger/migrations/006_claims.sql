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
