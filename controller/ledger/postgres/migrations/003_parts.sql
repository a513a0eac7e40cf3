CREATE TABLE parts (
    key BIGINT PRIMARY KEY,
    body BYTEA NOT NULL,
    touched BIGINT NOT NULL
);
