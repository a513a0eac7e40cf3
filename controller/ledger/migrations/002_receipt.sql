-- What the place that an item was published at is known by, such as the id of
-- a comment.
ALTER TABLE outbox ADD COLUMN receipt TEXT NOT NULL DEFAULT '';
