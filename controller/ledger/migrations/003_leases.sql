-- A lease is numbered with an epoch that no other ever had: a holder that was
-- taken for dead is known by it. One lease covers all that is made of an
-- execution digest, for its samples are stored together and the attempts after
-- them rest on them.
DROP TABLE leases;
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

-- wanted is asked by digest, too.
CREATE INDEX wanted_digest ON wanted (digest);
