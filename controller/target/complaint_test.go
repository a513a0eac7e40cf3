package target

import (
	"net/http"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, header, value, body string
		want                      complaint
	}{
		{name: "nothing"},
		{name: "a page", body: " <h1>Bad gateway</h1>\n", want: complaint{Message: "<h1>Bad gateway</h1>"}},
		{name: "OpenAI's form", body: `{"error":{"message":"quota","code":"insufficient_quota"}}`, want: complaint{Message: "quota", Spent: true}},
		{name: "a code that is a number", body: `{"error":{"message":"m","code":429}}`, want: complaint{Message: "m"}},
		{name: "an error that is a text", body: `{"error":"no such model"}`, want: complaint{Message: "no such model"}},
		{name: "a message alone", body: `{"message":"m"}`, want: complaint{Message: "m"}},
		{name: "a detail alone", body: `{"detail":[1]}`, want: complaint{Message: "[1]"}},
		{name: "no known form", body: `{"a":1}`, want: complaint{Message: `{"a":1}`}},
		{name: "Google's form", body: `[{"error":{"message":"m","details":[{"retryDelay":"1.5s"},{"violations":[{"quotaId":"xPerDayPerY"}]}]}}]`, want: complaint{Message: "m", Wait: 1500 * time.Millisecond, Spent: true}},
		{name: "a negative wait", body: `[{"error":{"message":"m","details":[{"retryDelay":"-5s"}]}}]`, want: complaint{Message: "m"}},
		{name: "a wait that is none", body: `[{"error":{"message":"m","details":[{"retryDelay":"soon"}]}}]`, want: complaint{Message: "m"}},
		{name: "details of another form", body: `[{"error":{"message":"m","details":{"a":1}}}]`, want: complaint{Message: "m"}},
		{name: "an empty list", body: `[]`, want: complaint{Message: "[]"}},
		{name: "a list of texts", body: `["a"]`, want: complaint{Message: `"a"`}},
		{name: "a header wins", header: "Retry-After", value: "7", body: `[{"error":{"message":"m","details":[{"retryDelay":"1s"}]}}]`, want: complaint{Message: "m", Wait: 7 * time.Second}},
		{name: "a date", header: "Retry-After", value: "Sun, 01 Mar 2026 12:00:30 GMT", want: complaint{Wait: 30 * time.Second}},
		{name: "a header that is none", header: "Retry-After", value: "soon", body: `[{"error":{"message":"m","details":[{"retryDelay":"1s"}]}}]`, want: complaint{Message: "m", Wait: time.Second}},
		{name: "more than a day", header: "Retry-After", value: "1e300", want: complaint{Wait: 24 * time.Hour}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			if tt.header != "" {
				header.Set(tt.header, tt.value)
			}
			if got := readComplaint(header, []byte(tt.body), now); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// FuzzRead reads what a hostile server says: never a wait that is negative or
// endless.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"error":{"message":"m","details":[{"retryDelay":"1e400s"}]}}]`), "9e99")
	f.Fuzz(func(t *testing.T, body []byte, after string) {
		header := http.Header{"Retry-After": {after}, "Retry-After-Ms": {after}}
		if c := readComplaint(header, body, time.Time{}); c.Wait < 0 || c.Wait > maxAfter {
			t.Errorf("wait %s", c.Wait)
		}
	})
}
