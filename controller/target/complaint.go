package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// A complaint is what a provider says is wrong.
type complaint struct {
	message string
	// wait is how long it asks to wait in the text itself; 0 where it does not.
	wait time.Duration
	// spent is true for a quota that does not come back by waiting.
	spent bool
}

// readComplaint finds what a provider says in the forms that are in use; else
// the text itself is the message.
func readComplaint(body []byte) complaint {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	// Google's errors stand in a list.
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if json.Unmarshal(body, &form) != nil {
		return complaint{message: string(bytes.TrimSpace(body))}
	}
	var inner struct {
		Message string            `json:"message"`
		Code    any               `json:"code"`
		Details []complaintDetail `json:"details"`
	}
	// What has another form leaves the message as it is.
	_ = json.Unmarshal(form.Error, &inner)
	if inner.Message == "" {
		return complaint{message: cmp.Or(plain(form.Error), form.Message, plain(form.Detail), string(body))}
	}
	c := complaint{message: inner.Message, spent: inner.Code == "insufficient_quota"}
	for _, d := range inner.Details {
		d.add(&c)
	}
	return c
}

// A complaintDetail is what Google says beside the message, where others have
// headers: a google.rpc.RetryInfo or a google.rpc.QuotaFailure.
type complaintDetail struct {
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

func (d complaintDetail) add(c *complaint) {
	if d.RetryDelay != "" {
		c.wait = min(max(parseWait(d.RetryDelay), 0), maxAfter)
	}
	for _, v := range d.Violations {
		c.spent = c.spent || strings.Contains(v.QuotaID, "PerDay")
	}
}
