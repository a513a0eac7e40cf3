-- No run is alone with a database of several machines: alone is 0.
ALTER TABLE underway ADD COLUMN alone BIGINT NOT NULL DEFAULT 0;
