-- Samples that were taken because of an outcome, such as those of a rerun of what
-- failed, say less than others about how often a case passes: 1 marks them.
ALTER TABLE samples ADD COLUMN chosen INTEGER NOT NULL DEFAULT 0;
