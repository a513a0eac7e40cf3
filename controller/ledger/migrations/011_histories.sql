-- Base was found to differ from what is stored of it: of a judgement digest nothing that
-- is older is compared with from then on.
CREATE TABLE histories (
    j     TEXT    NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (j, since)
) STRICT, WITHOUT ROWID;
