package postgres

import (
	"strings"
	"testing"
)

// TestAddresses: no text about an address has a part of its password, and a character
// that ends the password too early is named with its repair.
func TestAddresses(t *testing.T) {
	const encode, none = "write % as %25, @ as %40", ""
	for _, tt := range []struct{ address, shown, fault string }{
		{"postgres://ada:Sup3r@db:5432/gavel", "postgres://ada@db:5432/gavel", none},
		{"postgresql://ada:Sup3r%40SecretPart@db/gavel?sslmode=disable", "postgresql://ada@db/gavel", none},
		{"postgres://ada@[::1]:5432/gavel", "postgres://ada@[::1]:5432/gavel", none},
		{"postgres://ada:Sup3r@a:5432,b:5433/gavel", "postgres://ada@a:5432,b:5433/gavel", none},
		{"postgres://db/gavel?user=ada@azure&password=Sup3r@SecretPart", "postgres://db/gavel", none},
		{"postgres:///gavel?host=/run/postgresql", "postgres:///gavel", none},
		{"postgres://ada:Sup3r@SecretPart@127.0.0.1:1/gavel", "postgres://…", encode},
		{"postgres://ada:Sup3r/SecretPart@127.0.0.1:1/gavel", "postgres://…", encode},
		{"postgres://ada:Sup3r?SecretPart@127.0.0.1:1/gavel", "postgres://…", encode},
		{"postgres://ada:123?SecretPart=x@127.0.0.1:1/gavel", "postgres://…", encode},
		{"postgres://ada:Sup3r#SecretPart@127.0.0.1:1/gavel", "postgres://…", encode},
		{"postgresql://ada:Sup3r%SecretPart@127.0.0.1:1/gavel", "postgresql://…", encode},
		{"postgres://ada:Sup3r:SecretPart", "postgres://…", encode},
		{"postgres://ada:Sup3r@db/gavel?sslmode=none", "postgres://ada@db/gavel", "sslmode is invalid"},
		{"postgres://db/gavel?password=Sup3r&sslmode=none", "postgres://db/gavel", "write postgres://user:password@host/name"},
	} {
		if got := Redacted(tt.address); got != tt.shown {
			t.Errorf("%s is shown as %s, want %s", tt.address, got, tt.shown)
		}
		for name, err := range map[string]error{
			"CheckURL": CheckURL(tt.address),
			"Pending":  second(Pending(t.Context(), tt.address)),
			"TakeLead": second(TakeLead(t.Context(), tt.address, func() {})),
			"Open":     second(Open(t.Context(), Config{URL: tt.address})),
			"Pool":     second(Pool(t.Context(), tt.address)),
		} {
			if tt.fault == none && name != "CheckURL" {
				continue // that is about the server
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if (text != "") != (tt.fault != none) || !strings.Contains(text, tt.fault) || strings.Contains(text, "Sup3r") || strings.Contains(text, "Secret") {
				t.Errorf("%s of %s: %q, want %q and nothing of the password", name, tt.address, text, tt.fault)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
