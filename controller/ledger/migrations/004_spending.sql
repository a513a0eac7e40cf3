-- What calls took, by the account that they are counted on. What is reserved
-- for calls under way is in it.
CREATE TABLE spending (
    account TEXT    PRIMARY KEY,
    calls   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    usd     REAL    NOT NULL
) STRICT;
