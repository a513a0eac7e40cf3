package survey

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// An API is a way of an agent or a model to be asked over HTTP, read from an
// OpenAPI document.
type API struct {
	// Source is the file, or the URL, of the document.
	Source string
	// Title is the document's.
	Title string
	// URL is asked; BaseURL is that of an OpenAI-compatible API, which has no URL.
	URL, BaseURL string
	// Fields are those of the request, Replies those of the reply with status 200,
	// both sorted, as far as the document says them.
	Fields, Replies []string
}

// Text is the field of the request that takes the user's message, and the one of the
// reply that has the answer's text; both are empty where one of them is not clear, or
// where the agent takes messages.
func (a API) Text() (ask, answer string) {
	ask = firstOf(a.Fields, "message", "question", "query", "prompt", "input", "text", "user_input", "content")
	answer = firstOf(a.Replies, "reply", "answer", "response", "output", "text", "message", "content", "result")
	if a.Speaks() || ask == "" || answer == "" {
		return "", ""
	}
	return ask, answer
}

func firstOf(names []string, wanted ...string) string {
	for _, name := range wanted {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// Speaks reports whether the request has the field that Gavel's own contract
// needs.
func (a API) Speaks() bool { return slices.Contains(a.Fields, "messages") }

// asking are words of paths that agents are asked at, the likeliest first.
var asking = []string{"respond", "chat", "message", "ask", "agent", "invoke", "run", "query", "complet", "generate", "predict"}

const completions = "/chat/completions"

// apisOf finds what an OpenAPI document says can be asked, the likeliest first and
// at most three.
func apisOf(source string, doc map[string]any) []API {
	base := serverOf(source, doc)
	info, _ := doc["info"].(map[string]any)
	title, _ := info["title"].(string)
	paths, _ := doc["paths"].(map[string]any)
	type ranked struct {
		API
		rank int
	}
	var found []ranked
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		operations, _ := paths[name].(map[string]any)
		post, is := operations["post"].(map[string]any)
		rank := slices.IndexFunc(asking, func(word string) bool { return strings.Contains(strings.ToLower(name), word) })
		if !is || rank < 0 || strings.Contains(name, "{") {
			continue
		}
		api := API{Source: source, Title: title, URL: base + name, Fields: fieldsOf(doc, post["requestBody"]), Replies: repliesOf(doc, post)}
		if strings.HasSuffix(name, completions) {
			api.URL, api.BaseURL = "", base+strings.TrimSuffix(name, completions)
		}
		found = append(found, ranked{api, rank})
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	var out []API
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, f.API)
	}
	return out
}

// serverOf is the address that the paths of a document begin at: its first server,
// or that of swagger 2, without a slash at the end.
func serverOf(source string, doc map[string]any) string {
	var address string
	if servers, _ := doc["servers"].([]any); len(servers) > 0 {
		first, _ := servers[0].(map[string]any)
		address, _ = first["url"].(string)
	} else if host, _ := doc["host"].(string); host != "" {
		prefix, _ := doc["basePath"].(string)
		address = "https://" + host + prefix
	}
	from, err := url.Parse(source)
	if err != nil || from.Host == "" {
		from = &url.URL{Scheme: "http", Host: "127.0.0.1:8000"}
	}
	at, err := url.Parse(address)
	if err != nil || strings.Contains(address, "{") {
		at = &url.URL{}
	}
	if at.Host == "" {
		at = &url.URL{Scheme: from.Scheme, Host: from.Host, Path: path.Join("/", at.Path)}
	}
	return strings.TrimRight(at.String(), "/")
}

// repliesOf are the names of the fields of an operation's JSON reply.
func repliesOf(doc, operation map[string]any) []string {
	responses, _ := operation["responses"].(map[string]any)
	return fieldsOf(doc, responses["200"])
}

// fieldsOf are the names of the fields of a JSON request or reply.
func fieldsOf(doc map[string]any, at any) []string {
	body := follow(doc, at)
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	form := follow(doc, media["schema"])
	properties, _ := form["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// maxFollowed bounds a chain of references, which may be a circle.
const maxFollowed = 8

// follow returns an object, or the one in the document that it refers to.
func follow(doc map[string]any, at any) map[string]any {
	object, _ := at.(map[string]any)
	for range maxFollowed {
		ref, is := object["$ref"].(string)
		local, inside := strings.CutPrefix(ref, "#/")
		if !is || !inside {
			break
		}
		object = doc
		for name := range strings.SplitSeq(local, "/") {
			object, _ = object[name].(map[string]any)
		}
	}
	return object
}
