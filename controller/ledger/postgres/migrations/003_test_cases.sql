-- An index of the definitions of the testcase format, with the types that its document
-- names. It is made from git by gavel ledger index, and nothing is read from it but by
-- those who ask it. A file has no such table.
CREATE TABLE test_cases (
    repository TEXT COLLATE "C" NOT NULL, -- owner/name, empty where it has no remote
    key        TEXT COLLATE "C" NOT NULL,
    commit_id  TEXT COLLATE "C" NOT NULL,
    path       TEXT COLLATE "C" NOT NULL,
    line       BIGINT NOT NULL,
    id         UUID NOT NULL,
    agent_id   TEXT,
    source_call_id TEXT,
    name       TEXT NOT NULL,
    description TEXT,
    difficulty TEXT NOT NULL,
    status     TEXT NOT NULL,
    tags       TEXT[] NOT NULL,
    persona    JSONB,
    initial_message TEXT,
    user_context JSONB,
    max_turns  BIGINT,
    expected_outcomes JSONB,
    expected_tool_calls JSONB,
    evaluation_criteria_override TEXT,
    definition JSONB NOT NULL, -- all fields as the file has them
    created_at TIMESTAMPTZ,
    updated_at TIMESTAMPTZ,
    PRIMARY KEY (repository, key)
);
CREATE INDEX test_cases_id ON test_cases (id);
CREATE INDEX test_cases_tags ON test_cases USING GIN (tags);
