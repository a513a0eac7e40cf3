-- Errors of cases, which are not stored otherwise: a run that continues an interrupted one
-- finds out from them when a source was out of order.
CREATE TABLE failures (
    id      INTEGER PRIMARY KEY,
    e       TEXT    NOT NULL,
    ns      TEXT    NOT NULL,
    source  TEXT    NOT NULL, -- the target of the case
    symptom TEXT    NOT NULL, -- the same for errors that may have one cause
    retry   INTEGER NOT NULL, -- 1 for one that may not occur again
    created INTEGER NOT NULL,
    UNIQUE (e, ns, created)
) STRICT;
