-- Reports share what is equal in them. Of form 0 the body is JSON, as it was
-- written before; of form 1 it is a packed frame, and its pieces are below.
ALTER TABLE reports ADD COLUMN form INTEGER NOT NULL DEFAULT 0;

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

-- Old runs are looked for after every run.
CREATE INDEX runs_pull ON runs (repository, pull_request, started, id);
CREATE INDEX outbox_run ON outbox (run);
