-- Parts of cases, most of which many cases share. The parts of a verdict are the byte 1 and
-- their keys, 8 bytes each, big-endian, in their order; older verdicts have JSON.
CREATE TABLE parts (
    key     INTEGER PRIMARY KEY, -- the first 8 bytes of the SHA-256 of the body
    body    BLOB    NOT NULL,    -- JSON of plan.Part, without files
    touched INTEGER NOT NULL     -- when a process last stored a verdict and was not sure of it
) STRICT;
