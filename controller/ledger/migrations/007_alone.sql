-- A run is alone if its leases are in the memory of its process: the row is then the lease on
-- all digests.
ALTER TABLE underway ADD COLUMN alone INTEGER NOT NULL DEFAULT 0; -- 1 for such a run
