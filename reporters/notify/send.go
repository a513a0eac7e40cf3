package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

const (
	// tries bounds the attempts to deliver a notice, and timeout each of them.
	tries   = 3
	timeout = 10 * time.Second
)

// A Sender delivers notices to addresses that are secrets of the operator. It is safe for
// concurrent use.
type Sender struct {
	// URL returns the address in a variable, and has it redacted from then on. Its error
	// says why the variable may not be used.
	URL func(variable string) (string, error)
	// Transport carries the requests. Defaults to one that connects to public addresses
	// only.
	Transport http.RoundTripper
	// Clock paces the attempts. Defaults to the machine's.
	Clock clock.Clock
}

// Send delivers a notice in a form to the address in a variable. It follows no redirect,
// and its errors contain no address.
func (s *Sender) Send(ctx context.Context, variable, form string, n Notice) error {
	address, err := s.URL(variable)
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%s does not contain an https address without a user", variable)
	}
	body, err := n.Body(form)
	if err != nil {
		return err
	}
	carrier := s.Transport
	if carrier == nil {
		carrier = publicTransport
	}
	client := &http.Client{
		Transport: carrier, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for n := 1; ; n++ {
		again, err := post(ctx, client, address, body)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("the address in %s: %w", variable, err)
		if !again || n == tries {
			return err
		}
		if clock.Or(s.Clock).Sleep(ctx, time.Duration(n)*time.Second) != nil {
			return err
		}
	}
}

// post sends a body once. again means that another attempt may succeed.
func post(ctx context.Context, client *http.Client, address string, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("it is not an address")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		var wrapped *url.Error // it quotes the address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return !errors.Is(err, errNotPublic), err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // the connection can be used again
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode < 400:
		return false, fmt.Errorf("the answer is a redirect (%d), which is not followed", resp.StatusCode)
	}
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the answer is %d", resp.StatusCode)
}

// errNotPublic refuses an address within a network.
var errNotPublic = errors.New("it is not a public address")

// publicTransport connects to public addresses only. It uses no proxy, which would connect
// to any address.
var publicTransport = &http.Transport{
	DialContext: (&net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(at.Addr()) {
			return errNotPublic
		}
		return nil
	}}).DialContext,
	ForceAttemptHTTP2: true, MaxIdleConns: 10, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout,
}

// reserved are networks without public servers that [netip.Addr] does not know, and networks
// that lead to IPv4 addresses.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10",
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// isPublic reports whether an address is on the internet.
func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
