-- Workers that give signs of life. programs means that they have a sandbox.
CREATE TABLE IF NOT EXISTS queue_workers (
	id text PRIMARY KEY,
	programs boolean NOT NULL,
	until timestamptz NOT NULL
);

-- Runs that somebody waits for. about is what their tasks have in common.
CREATE TABLE IF NOT EXISTS queue_runs (
	id text PRIMARY KEY,
	about jsonb NOT NULL,
	until timestamptz NOT NULL
);

-- What became of tasks, until their run has read it.
CREATE TABLE IF NOT EXISTS queue_outcomes (
	run text NOT NULL REFERENCES queue_runs (id) ON DELETE CASCADE,
	job bigint NOT NULL,
	outcome jsonb NOT NULL,
	PRIMARY KEY (run, job)
);

-- What became of one case of a task that has two, 0 or its partner 1, stored with its
-- verdict until the other one has ended as well.
CREATE TABLE IF NOT EXISTS queue_halves (
	run text NOT NULL REFERENCES queue_runs (id) ON DELETE CASCADE,
	job bigint NOT NULL,
	half smallint NOT NULL,
	outcome jsonb NOT NULL,
	PRIMARY KEY (run, job, half)
);

-- What is known of targets that several workers call: how many calls may be in flight,
-- since the provider refused some; until when none is sent; and until when it is down.
CREATE TABLE IF NOT EXISTS queue_targets (
	id text PRIMARY KEY,
	open integer NOT NULL,
	replies bigint NOT NULL DEFAULT 0,
	pause_until timestamptz NOT NULL DEFAULT now(),
	down_until timestamptz,
	down_failures integer NOT NULL DEFAULT 0,
	down_last text NOT NULL DEFAULT ''
);

-- What each worker may have in flight of that, and would like to.
CREATE TABLE IF NOT EXISTS queue_shares (
	target text NOT NULL,
	worker text NOT NULL,
	slots integer NOT NULL,
	want integer NOT NULL,
	PRIMARY KEY (target, worker)
);
