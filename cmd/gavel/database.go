package main

import "github.com/gavel-evals/gavel/controller/ledger/postgres"

// databaseVariable holds the address of a PostgreSQL database that replaces the
// ledger's file. It contains a password, so it is mostly read from the environment.
const databaseVariable = "GAVEL_DATABASE_URL"

// databaseURL returns the address of the database that --database-url or the environment
// names, empty for none. flag is the value of --database-url. The error names the source
// of a wrong address, and has no part of its password.
func (a *App) databaseURL(flag string) (string, error) {
	source, url := "--database-url", flag
	if url == "" {
		source, url = databaseVariable, a.Env(databaseVariable)
	}
	switch {
	case url == "":
		return "", nil
	case !postgres.IsURL(url):
		return "", usageError("%s is not the address of a PostgreSQL database; write postgres://user:password@host/name, or leave it out to use a file", source)
	}
	if err := postgres.CheckURL(url); err != nil {
		return "", usageError("%s: %w", source, err)
	}
	a.Secrets.Add(postgres.Password(url))
	return url, nil
}
