-- What people asked for in comments on pull requests. A repository is named by
-- its forge and its id there, which survives renames. Rows stay as they were
-- written but for answered.
CREATE TABLE commands (
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    comment      INTEGER NOT NULL,
    login        TEXT    NOT NULL,
    account      INTEGER NOT NULL,
    verb         TEXT    NOT NULL,
    argument     TEXT    NOT NULL,
    cases        TEXT    NOT NULL, -- JSON list of keys
    head         TEXT    NOT NULL, -- the commit that it is about
    refused      TEXT    NOT NULL, -- why it was not obeyed; empty where it was
    written      INTEGER NOT NULL, -- by the forge's clock
    taken        INTEGER NOT NULL, -- by ours
    answered     INTEGER,          -- NULL until the forge was told
    PRIMARY KEY (repository, comment)
) STRICT;
CREATE INDEX commands_pull_request ON commands (repository, pull_request, comment);

-- When each head of a pull request was first seen.
CREATE TABLE heads (
    repository   TEXT    NOT NULL,
    pull_request INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    seen         INTEGER NOT NULL,
    PRIMARY KEY (repository, pull_request, head)
) STRICT;
