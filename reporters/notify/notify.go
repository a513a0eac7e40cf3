// Package notify sends short notices about results to chats and other programs.
//
// Most callers create a [Sender] and call [Sender.Send] with a [Notice], which contains
// texts of strangers and models: no form of it lets them mention people or add links.
package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// The forms of a notice.
const (
	FormJSON  = "json"  // the Notice itself
	FormSlack = "slack" // for an incoming webhook of Slack
	FormTeams = "teams" // an Adaptive Card for a workflow of Teams
)

// The events that notices are about.
const (
	EventRegression   = "regression"
	EventDrift        = "drift"
	EventUndetermined = "undetermined"
)

// MaxCases bounds the cases of a notice.
const MaxCases = 10

// maxText bounds a text in a notice, in runes. Slack takes 3,000 for a whole block.
const maxText = 120

// A Notice is a message about one result.
type Notice struct {
	Event string `json:"event"`
	// Repository is owner/name, PullRequest 0 outside of one, and Branch empty except for
	// drift.
	Repository  string `json:"repository"`
	PullRequest int    `json:"pull_request,omitempty"`
	Branch      string `json:"branch,omitempty"`
	Head        string `json:"head"`
	// Summary is the description of the status.
	Summary string `json:"summary"`
	// URL is the page of the result; empty without one.
	URL   string `json:"url,omitempty"`
	Cases []Case `json:"cases"`
	// More counts the cases beyond [MaxCases].
	More int `json:"more,omitempty"`
}

// A Case is a case that the event is about.
type Case struct {
	Key    string `json:"key"`
	Reason string `json:"reason,omitempty"`
}

// Add adds a case, within the bound.
func (n *Notice) Add(key, reason string) {
	if len(n.Cases) == MaxCases {
		n.More++
		return
	}
	n.Cases = append(n.Cases, Case{line(key), line(reason)})
}

// line is a text in one line without control characters, of bounded length.
func line(text string) string { return textfmt.Clip(textfmt.Line(text), maxText) }

// Body returns the notice in a form, which defaults to [FormJSON].
func (n *Notice) Body(form string) ([]byte, error) {
	switch cmp.Or(form, FormJSON) {
	case FormJSON:
		return json.Marshal(n)
	case FormSlack:
		return json.Marshal(n.slack())
	case FormTeams:
		return json.Marshal(n.teams())
	}
	return nil, fmt.Errorf("there are no notices in the form %q", form)
}

// title names the event and its place.
func (n *Notice) title() string {
	what := map[string]string{EventRegression: "Regression", EventDrift: "Drift", EventUndetermined: "Undetermined"}[n.Event]
	where := n.Repository
	switch {
	case n.PullRequest != 0:
		where += fmt.Sprintf(" #%d", n.PullRequest)
	case n.Branch != "":
		where += " " + line(n.Branch)
	}
	return fmt.Sprintf("%s in %s at %.7s", what, where, n.Head)
}

// lines are the summary and the cases.
func (n *Notice) lines() []string {
	all := []string{line(n.Summary)}
	for _, c := range n.Cases {
		text := "• " + c.Key
		if c.Reason != "" {
			text += ": " + c.Reason
		}
		all = append(all, text)
	}
	if n.More > 0 {
		all = append(all, "and "+textfmt.Count(n.More, "more case"))
	}
	return all
}

// A slackText is a text object: mrkdwn, or plain_text, in which nothing has a meaning.
type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type slackBlock struct {
	Type string    `json:"type"`
	Text slackText `json:"text"`
}

// A slackMessage has blocks, and the text of notifications.
type slackMessage struct {
	Text        string       `json:"text"`
	Blocks      []slackBlock `json:"blocks"`
	UnfurlLinks bool         `json:"unfurl_links"`
	UnfurlMedia bool         `json:"unfurl_media"`
}

// slackEscapes are the three characters that begin mentions, links and entities.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (n *Notice) slack() slackMessage {
	title := slackEscapes.Replace(n.title())
	heading := title
	if page := textfmt.WebAddress(n.URL); page != "" {
		heading = "<" + slackEscapes.Replace(page) + "|" + strings.ReplaceAll(title, "|", "/") + ">"
	}
	return slackMessage{
		Text: title,
		Blocks: []slackBlock{
			{"section", slackText{"mrkdwn", heading}},
			{"section", slackText{"plain_text", textfmt.Clip(slackEscapes.Replace(strings.Join(n.lines(), "\n")), 3000)}},
		},
	}
}

// A run is a piece of text without Markdown.
type run struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
}

type richText struct {
	Type    string `json:"type"`
	Inlines []run  `json:"inlines"`
}

type openURL struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type card struct {
	Schema  string     `json:"$schema"`
	Type    string     `json:"type"`
	Version string     `json:"version"`
	Body    []richText `json:"body"`
	Actions []openURL  `json:"actions,omitempty"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Content     card   `json:"content"`
}

type teamsMessage struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

// teams writes the texts as runs of rich text: a TextBlock would read Markdown in them.
func (n *Notice) teams() teamsMessage {
	paragraph := func(r run) richText { return richText{"RichTextBlock", []run{r}} }
	out := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.2"}
	out.Body = append(out.Body, paragraph(run{"TextRun", n.title(), "bolder"}))
	for _, text := range n.lines() {
		out.Body = append(out.Body, paragraph(run{Type: "TextRun", Text: text}))
	}
	if page := textfmt.WebAddress(n.URL); page != "" {
		out.Actions = []openURL{{"Action.OpenUrl", "Open", page}}
	}
	return teamsMessage{"message", []attachment{{"application/vnd.microsoft.card.adaptive", out}}}
}
