ALTER TABLE calls ADD COLUMN question BIGINT;
CREATE INDEX calls_question ON calls (question) WHERE question IS NOT NULL;
