-- What a case consisted of when it was decided, so that a later plan can say
-- what changed since. case_id is its repository and its ID, a line each.
ALTER TABLE verdicts ADD COLUMN case_id TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN parts BLOB; -- JSON of plan.Part, without files; NULL where it is not known
CREATE INDEX verdicts_case ON verdicts (case_id, id);
