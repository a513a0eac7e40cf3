package limit

import "net/http"

// RefusesAll reports whether a status concerns the address, the key or the account, and
// thus every request.
func RefusesAll(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusGone, http.StatusTooManyRequests:
		return true
	}
	return false
}
