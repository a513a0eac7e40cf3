-- The commit that a case was of when it was decided, empty where none was said.
ALTER TABLE verdicts ADD COLUMN commit_id TEXT NOT NULL DEFAULT '';
