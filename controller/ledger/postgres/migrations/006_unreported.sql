CREATE TABLE unreported (
    run TEXT COLLATE "C" NOT NULL,
    writer TEXT COLLATE "C" NOT NULL,
    repository TEXT NOT NULL,
    pull_request BIGINT NOT NULL,
    base TEXT NOT NULL,
    head TEXT NOT NULL,
    started BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    usd DOUBLE PRECISION NOT NULL,
    unpriced BIGINT NOT NULL,
    PRIMARY KEY (run, writer)
);
