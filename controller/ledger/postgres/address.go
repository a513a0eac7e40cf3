package postgres

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// IsURL reports whether a text is the address of a PostgreSQL database.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// errEncode says how a character is written that would end the password in an address.
var errEncode = errors.New("the address cannot be read: in its user and its password, write % as %25, @ as %40, : as %3A, / as %2F, ? as %3F and # as %23")

// CheckURL returns why an address cannot be read, without any part of its password.
func CheckURL(text string) error {
	if !isClear(text) {
		return errEncode
	}
	_, err := pgxpool.ParseConfig(text)
	if err == nil {
		return nil
	}
	// The message quotes the address first.
	_, reason, ok := strings.Cut(err.Error(), "`: ")
	if query := text[strings.IndexByte(text+"?", '?'):]; !ok || strings.Contains(query, "password") {
		return errors.New("the address cannot be read: write postgres://user:password@host/name")
	}
	return errors.New("the address cannot be read: " + reason)
}

// isClear reports whether an address has only one reading, so that nothing of its
// password is taken for the host, the database or an option.
func isClear(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	main, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(main, "/")
	user, hosts, named := strings.Cut(authority, "@")
	if !named {
		user, hosts = "", authority
	}
	for option := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(option, "=")
		if strings.Contains(name, "@") || !named && name != "user" && name != "password" && strings.Contains(value, "@") {
			return false
		}
	}
	_, escapes := url.PathUnescape(user)
	_, options := url.ParseQuery(query)
	return escapes == nil && options == nil && havePorts(hosts) && !strings.Contains(hosts+path, "@") && !strings.Contains(rest, "#")
}

// havePorts reports whether what follows the colon of each host is a number.
func havePorts(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		_, port, ok := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
		if _, err := strconv.ParseUint(port, 10, 16); ok && port != "" && err != nil {
			return false
		}
	}
	return true
}

// Redacted returns a URL that people may see: without its password and its options.
func Redacted(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	if !isClear(text) {
		return scheme + "://…"
	}
	rest, _, _ = strings.Cut(rest, "?")
	if user, after, ok := strings.Cut(rest, "@"); ok {
		user, _, _ = strings.Cut(user, ":")
		rest = user + "@" + after
	}
	return scheme + "://" + rest
}

// Password returns the password in an address, empty if it has none.
func Password(text string) string {
	parsed, err := pgxpool.ParseConfig(text)
	if err != nil {
		return ""
	}
	return parsed.ConnConfig.Password
}
