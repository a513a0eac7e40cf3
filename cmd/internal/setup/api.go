package setup

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// An API is an HTTP interface of an agent or a model, read from an OpenAPI document.
type API struct {
	// Source is the file, or the URL, of the document.
	Source string
	// Title is the title of the document.
	Title string
	// URL takes the requests. An OpenAI-compatible API has a BaseURL instead.
	URL, BaseURL string
	// Fields are the documented fields of the request. Replies are the paths of the
	// documented fields of a reply with status 200, such as data.answer. Both are sorted.
	Fields, Replies []string
}

// AllAPIs returns the APIs of files, then the APIs of running servers.
func (s *Survey) AllAPIs() []API {
	apis := slices.Clone(s.APIs)
	for _, server := range s.Servers {
		apis = append(apis, server.APIs...)
	}
	return apis
}

// Text returns the request field that takes the user's message, and the path of the reply
// field that has the answer. Each is empty if it is unclear, and both are empty if the
// agent takes messages.
func (a API) Text() (ask, answer string) {
	if a.Speaks() {
		return "", ""
	}
	ask = firstOf(a.Fields, "message", "question", "query", "prompt", "input", "text", "user_input", "content")
	for level := range maxLevels {
		names := map[string]string{} // paths by their last name
		for _, path := range slices.Backward(a.Replies) {
			if strings.Count(path, ".") == level {
				names[path[strings.LastIndex(path, ".")+1:]] = path
			}
		}
		found := firstOf(slices.Sorted(maps.Keys(names)), "reply", "answer", "response", "output", "text", "message", "content", "result")
		if found != "" {
			return ask, names[found]
		}
	}
	return ask, ""
}

func firstOf(names []string, wanted ...string) string {
	for _, name := range wanted {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// Speaks reports whether the request has the field that Gavel's own contract needs.
func (a API) Speaks() bool { return slices.Contains(a.Fields, "messages") }

// asking lists words in the paths of agents, the likeliest first.
var asking = []string{"respond", "chat", "message", "ask", "agent", "invoke", "run", "query", "complet", "generate", "predict"}

const completions = "/chat/completions"

// apisOf returns at most three APIs of an OpenAPI document, the likeliest first.
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

// serverOf returns the address that the paths of a document are relative to: its first
// server, or the host of Swagger 2, without a slash at the end.
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

// repliesOf returns the paths of the fields in an operation's JSON reply that are not
// objects.
func repliesOf(doc, operation map[string]any) []string {
	responses, _ := operation["responses"].(map[string]any)
	paths := textPaths(doc, formOf(doc, responses["200"]), "", 1)
	slices.Sort(paths)
	return paths
}

// maxLevels bounds the depth of the search for an answer in a reply.
const maxLevels = 3

// textPaths returns the paths of the fields of a schema that may be texts.
func textPaths(doc, form map[string]any, prefix string, level int) []string {
	properties, _ := form["properties"].(map[string]any)
	var out []string
	for name, at := range properties {
		if !plainName.MatchString(name) {
			continue
		}
		below := follow(doc, at)
		_, isObject := below["properties"].(map[string]any)
		kind, _ := below["type"].(string)
		switch {
		case isObject && level < maxLevels:
			out = append(out, textPaths(doc, below, prefix+name+".", level+1)...)
		case !isObject && (kind == "" || kind == "string"):
			out = append(out, prefix+name)
		}
	}
	return out
}

// plainName matches a name that a JSONPath can have after a point.
var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fieldsOf returns the names of the fields of a JSON request.
func fieldsOf(doc map[string]any, at any) []string {
	properties, _ := formOf(doc, at)["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// formOf returns the schema of a JSON request or reply.
func formOf(doc map[string]any, at any) map[string]any {
	body := follow(doc, at)
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	return follow(doc, media["schema"])
}

// maxFollowed bounds a chain of references, which may be circular.
const maxFollowed = 8

// follow returns an object, or the object in the document that it refers to.
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
