-- Digests are the bytes of a SHA-256, which are half as many as its digits.

-- unhex and hex do as their namesakes in SQLite.
CREATE FUNCTION unhex(digits TEXT) RETURNS BYTEA LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT decode(digits, 'hex') $$;
CREATE FUNCTION hex(bytes BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT upper(encode(bytes, 'hex')) $$;

CREATE FUNCTION digest_bytes(digest TEXT) RETURNS BYTEA LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN digest ~ '^[0-9a-f]{64}$' THEN decode(digest, 'hex') ELSE convert_to(digest, 'UTF8') END
$$;
ALTER TABLE samples ALTER COLUMN e TYPE BYTEA USING digest_bytes(e);
ALTER TABLE judgements ALTER COLUMN j TYPE BYTEA USING digest_bytes(j);
ALTER TABLE verdicts ALTER COLUMN d TYPE BYTEA USING digest_bytes(d),
    ALTER COLUMN e TYPE BYTEA USING digest_bytes(e),
    ALTER COLUMN j TYPE BYTEA USING digest_bytes(j);
ALTER TABLE calls ALTER COLUMN digest TYPE BYTEA USING digest_bytes(digest),
    ALTER COLUMN request_digest TYPE BYTEA USING digest_bytes(request_digest);
ALTER TABLE leases ALTER COLUMN digest TYPE BYTEA USING digest_bytes(digest);
ALTER TABLE wanted ALTER COLUMN digest TYPE BYTEA USING digest_bytes(digest);
ALTER TABLE histories ALTER COLUMN j TYPE BYTEA USING digest_bytes(j);
ALTER TABLE failures ALTER COLUMN e TYPE BYTEA USING digest_bytes(e);
DROP FUNCTION digest_bytes(TEXT);
