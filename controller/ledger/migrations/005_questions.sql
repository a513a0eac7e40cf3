-- What a call that judges asked: of which model, about which sample. Another judgement of the
-- sample finds the reply by it.
ALTER TABLE calls ADD COLUMN question INTEGER; -- the first 8 bytes of the SHA-256 of ledger.Call.Question; NULL for other calls, and earlier ones
CREATE INDEX calls_question ON calls (question) WHERE question IS NOT NULL;
