package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Server answers HTTP on loopback.
type Server struct {
	Port int
	// Models are the models that an OpenAI-compatible server lists under BaseURL.
	Models  []string
	BaseURL string
	// APIs are the interfaces in its OpenAPI document.
	APIs []API
}

// LoopbackPorts are the default ports of model servers and frameworks: Ollama, LM Studio,
// vLLM and FastAPI, Node, Flask, llama.cpp.
var LoopbackPorts = []int{11434, 1234, 8000, 8080, 3000, 5000, 4000}

const (
	// patience bounds the time of a server on loopback.
	patience = 700 * time.Millisecond
	maxReply = 4 << 20
)

// probe asks all ports of loopback at the same time and returns their servers.
func probe(ctx context.Context, ports []int) []Server {
	found := make([]*Server, len(ports))
	var all sync.WaitGroup
	for i, port := range ports {
		all.Go(func() { found[i] = ask(ctx, port) })
	}
	all.Wait()
	var out []Server
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// ask asks one port. It returns nil if nothing answers.
func ask(ctx context.Context, port int) *Server {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	root := fmt.Sprintf("http://127.0.0.1:%d", port)
	out := &Server{Port: port}
	body, answers := get(ctx, root+"/v1/models")
	if !answers {
		return nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) == nil && len(list.Data) > 0 {
		out.BaseURL = root + "/v1"
		for _, m := range list.Data {
			out.Models = append(out.Models, m.ID)
		}
		return out
	}
	source := root + "/openapi.json"
	if body, _ = get(ctx, source); body != nil {
		out.APIs = apisOf(source, parse(body))
	}
	return out
}

// API returns the interface of an agent at an address. It asks a server on loopback that
// was not surveyed for its OpenAPI document.
func (s *Survey) API(ctx context.Context, address string) (API, bool) {
	at, err := url.Parse(address)
	if err != nil || address == "" {
		return API{}, false
	}
	port, err := strconv.Atoi(cmp.Or(at.Port(), "80"))
	asked := slices.ContainsFunc(s.Servers, func(server Server) bool { return server.Port == port })
	loopback := at.Hostname() == "localhost" || at.Hostname() == "127.0.0.1"
	if loopback {
		at.Host = "127.0.0.1:" + strconv.Itoa(port)
	}
	if loopback && err == nil && !asked && at.Scheme == "http" {
		s.Servers = append(s.Servers, probe(ctx, []int{port})...)
	}
	for _, api := range s.AllAPIs() {
		if api.URL != "" && (api.URL == address || api.URL == at.String()) {
			return api, true
		}
	}
	return API{}, false
}

// get returns the body of a reply with status 200, and whether there was any reply.
// Redirects are not followed: they may leave loopback.
func get(ctx context.Context, address string) (body []byte, answers bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, true
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, true
	}
	return body, true
}
