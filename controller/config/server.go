package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Server is the operator's checked file with its defaults filled in. It is outside of
// every repository and decides what no pull request may decide: the repositories, their
// credentials, and the rights of strangers.
type Server struct {
	// Listen is host:port.
	Listen string
	// Probes is host:port for monitoring; empty if probes are asked at Listen.
	Probes string
	// Hosts are names by which it is reached, in addition to addresses and localhost.
	Hosts []string
	// Data is the folder for clones, Ledger the ledger's file.
	Data   string
	Ledger string
	// Webhook is nil if forges are only polled.
	Webhook      *Webhook
	Credentials  map[string]Credential
	Repositories []Repository
	Trust        ServerTrust
	// Budget is for all runs of a day. It defaults to [DefaultCalls] for each
	// repository.
	Budget Limits
	// Bots are user ids that are heard and trusted as people who may write.
	Bots []int64
	// Labels has a label ask for a run of a pull request.
	Labels bool
	// Notify are the variables whose addresses a gavel.yaml may have notified.
	Notify []string
	Poll   time.Duration
	// Deadline bounds the work for a head before it is judged.
	Deadline time.Duration
	// Pages is nil if there are none.
	Pages *Pages
}

// A Secret is held by an environment variable or by a file, never by the
// configuration.
type Secret struct{ Env, File string }

// A Webhook says where deliveries arrive and how they are signed.
type Webhook struct {
	Path   string
	Secret Secret
	// Previous is zero if there is none.
	Previous Secret
}

// A Credential is a token, or a GitHub App if AppID is not 0.
type Credential struct {
	Token Secret
	AppID int64
	// Installation is 0 if the forge is asked for the one in a repository.
	Installation int64
	Key          Secret
}

// A Repository is one whose pull requests the server judges.
type Repository struct {
	// Name is owner/name, empty without a forge.
	Name string
	// Forge is the root of its REST API.
	Forge string
	// URL is where it is cloned from, empty for the forge's address.
	URL        string
	Credential string
	// Branches are base branches; empty means the default branch.
	Branches []string
	Config   string
	// Schedule is nil if there are no scheduled runs. Its times are UTC.
	Schedule cron.Schedule
	// DriftIssue is zero if only a status reports drift.
	DriftIssue DriftIssue
}

// ServerTrust says what pull requests are allowed to do.
type ServerTrust struct {
	// Forks is approve, plan or never; Programs writers, approved, base-only or
	// never; Targets writers, approved or base-only.
	Forks, Programs, Targets string
	Sandbox                  ServerSandbox
}

// ServerSandbox says what programs are allowed to do.
type ServerSandbox struct {
	// Accept is isolated, partial or off.
	Accept     string
	Read, Path []string
	Network    bool
}

// DefaultCalls is how many calls a day each repository of a server may make if the
// operator's file has no budget.
const DefaultCalls = 20_000

// DefaultForge is GitHub's public API.
const DefaultForge = "https://api.github.com"

// serverForm is the operator's file as it is written.
type serverForm struct {
	Listen  listen   `json:"listen"`
	Probes  string   `json:"probes"`
	Hosts   []string `json:"hosts"`
	Data    string   `json:"data"`
	Ledger  string   `json:"ledger"`
	Webhook *struct {
		Path         string `json:"path"`
		SecretEnv    string `json:"secret_env"`
		SecretFile   string `json:"secret_file"`
		PreviousEnv  string `json:"previous_secret_env"`
		PreviousFile string `json:"previous_secret_file"`
	} `json:"webhook"`
	Credentials map[string]struct {
		TokenEnv  string `json:"token_env"`
		TokenFile string `json:"token_file"`
		AppID     int64  `json:"app_id"`
		Install   int64  `json:"installation_id"`
		KeyEnv    string `json:"private_key_env"`
		KeyFile   string `json:"private_key_file"`
	} `json:"credentials"`
	Repositories []struct {
		Name       string     `json:"name"`
		Forge      string     `json:"forge"`
		URL        string     `json:"url"`
		Credential string     `json:"credential"`
		Branches   []string   `json:"branches"`
		Config     string     `json:"config"`
		Schedule   string     `json:"schedule"`
		DriftIssue DriftIssue `json:"drift_issue"`
	} `json:"repositories"`
	Trust struct {
		Forks    string `json:"forks"`
		Programs string `json:"programs"`
		Targets  string `json:"targets"`
		Sandbox  struct {
			Accept  string   `json:"accept"`
			Read    []string `json:"read"`
			Path    []string `json:"path"`
			Network bool     `json:"network"`
		} `json:"sandbox"`
	} `json:"trust"`
	Budget struct {
		Calls  *int64   `json:"calls"`
		Tokens *int64   `json:"tokens"`
		USD    *float64 `json:"usd"`
	} `json:"budget"`
	Bots     []int64  `json:"bots"`
	Labels   bool     `json:"labels"`
	Notify   []string `json:"notify"`
	Poll     duration `json:"poll"`
	Deadline duration `json:"deadline"`

	Pages *pagesForm `json:"pages"`
}

// ParseServer checks the bytes of an operator's file and returns its values with all
// defaults filled in; nil if a problem has severity Error.
func ParseServer(file string, data []byte) (*Server, []schema.Problem) {
	doc, problems := document.Parse(file, data)
	if doc == nil {
		return nil, problems
	}
	k := serverChecker{checker: checker{Complaints: document.Complaints{Doc: doc}}}
	for _, p := range doc.Check("#Server", schema.Error) {
		k.Problems = append(k.Problems, withUnit(p))
	}
	if schema.HasErrors(k.Problems) {
		return nil, schema.SortProblems(k.Problems)
	}
	var f serverForm
	if err := doc.Decode(&f); err != nil {
		k.Fail("wrong-type", err.Error(), "")
		return nil, k.Problems
	}
	k.server = f.server()
	k.check(f)
	if schema.HasErrors(k.Problems) {
		return nil, schema.SortProblems(k.Problems)
	}
	return k.server, schema.SortProblems(k.Problems)
}

func (f serverForm) server() *Server {
	s := &Server{
		Listen: cmp.Or(string(f.Listen), "127.0.0.1:8080"), Probes: f.Probes, Hosts: f.Hosts, Data: cmp.Or(f.Data, "/var/lib/gavel"),
		Credentials: make(map[string]Credential, len(f.Credentials)),
		Trust: ServerTrust{
			Forks: cmp.Or(f.Trust.Forks, "approve"), Programs: cmp.Or(f.Trust.Programs, "writers"), Targets: cmp.Or(f.Trust.Targets, "writers"),
			Sandbox: ServerSandbox{
				Accept: cmp.Or(f.Trust.Sandbox.Accept, "isolated"), Read: f.Trust.Sandbox.Read,
				Path: f.Trust.Sandbox.Path, Network: f.Trust.Sandbox.Network,
			},
		},
		Budget: Limits(f.Budget),
		Bots:   f.Bots, Labels: f.Labels, Notify: f.Notify, Poll: cmp.Or(time.Duration(f.Poll), time.Minute),
		Deadline: cmp.Or(time.Duration(f.Deadline), 2*time.Minute),
	}
	if s.Budget == (Limits{}) {
		calls := int64(DefaultCalls * len(f.Repositories))
		s.Budget.Calls = &calls
	}
	s.Ledger = cmp.Or(f.Ledger, filepath.Join(s.Data, "ledger.db"))
	if w := f.Webhook; w != nil {
		s.Webhook = &Webhook{cmp.Or(w.Path, "/hooks"), Secret{w.SecretEnv, w.SecretFile}, Secret{w.PreviousEnv, w.PreviousFile}}
	}
	for name, c := range f.Credentials {
		s.Credentials[name] = Credential{Secret{c.TokenEnv, c.TokenFile}, c.AppID, c.Install, Secret{c.KeyEnv, c.KeyFile}}
	}
	for _, r := range f.Repositories {
		repo := Repository{
			Name: r.Name, Forge: strings.TrimRight(r.Forge, "/"), URL: r.URL, Credential: r.Credential,
			Branches: r.Branches, Config: cmp.Or(r.Config, "gavel.yaml"), DriftIssue: r.DriftIssue,
		}
		if repo.Name != "" {
			repo.Forge = cmp.Or(repo.Forge, DefaultForge)
		}
		s.Repositories = append(s.Repositories, repo)
	}
	return s
}

// A DriftIssue is the issue in which scheduled runs report drift; the zero value is none.
type DriftIssue struct {
	// Number is an issue that exists.
	Number int
	// New is an issue that is opened when drift is found, unless an earlier one is open.
	New bool
}

// ParseDriftIssue reads new or the number of an issue; 0 and an empty text are none.
func ParseDriftIssue(text string) (DriftIssue, error) {
	if text == "new" {
		return DriftIssue{New: true}, nil
	}
	number, err := strconv.Atoi(cmp.Or(text, "0"))
	if err != nil || number < 0 {
		return DriftIssue{}, fmt.Errorf("%q is not an issue; write its number, or new for one that Gavel opens", text)
	}
	return DriftIssue{Number: number}, nil
}

// UnmarshalJSON reads a number or a text.
func (d *DriftIssue) UnmarshalJSON(raw []byte) (err error) {
	*d, err = ParseDriftIssue(strings.Trim(string(raw), `"`))
	return err
}

// listen is an address. A port alone is one of this machine.
type listen string

// UnmarshalJSON reads a text or a number.
func (l *listen) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	switch {
	case isPort(text):
		*l = listen(net.JoinHostPort("127.0.0.1", text))
	case text == "null":
	default:
		*l = listen(text)
	}
	return nil
}

// A serverChecker finds disagreement between the fields of a Server.
type serverChecker struct {
	checker
	server *Server
}

func (k *serverChecker) check(f serverForm) {
	if _, port, err := net.SplitHostPort(k.server.Listen); err != nil || !isPort(port) {
		k.Fail("bad-address", fmt.Sprintf("`listen` is %q, which is not an address", k.server.Listen), "write it as host:port, such as 127.0.0.1:8080", "listen")
	}
	if _, port, err := net.SplitHostPort(k.server.Probes); k.server.Probes != "" && (err != nil || !isPort(port)) {
		k.Fail("bad-address", fmt.Sprintf("`probes` is %q, which is not an address", k.server.Probes), "write it as host:port, such as 0.0.0.0:8081", "probes")
	} else if overlap(k.server.Listen, k.server.Probes) {
		k.Fail("bad-address", fmt.Sprintf("`probes` is %s and `listen` is %s, which cannot both have the port", k.server.Probes, k.server.Listen), "write another port, or remove probes to have monitoring ask at listen", "probes")
	}
	for i, name := range k.server.Hosts {
		if name == "" || strings.ContainsAny(name, ":/") {
			k.Fail("bad-host", fmt.Sprintf("`hosts` has %q, which is not a host name", name), "write the name alone, such as gavel.internal", "hosts", i)
		}
	}
	for i, name := range k.server.Notify {
		k.variable(name, "notify", i)
	}
	k.duration("poll")
	k.wait("deadline")
	if w := k.server.Webhook; w != nil {
		k.webhookPath(w.Path, f.Pages != nil)
		k.secret(w.Secret, "secret", "webhook")
		if w.Previous != (Secret{}) {
			k.secret(w.Previous, "previous_secret", "webhook")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.server.Credentials)) {
		k.credential(name, k.server.Credentials[name])
	}
	seen := map[string]int{}
	for i := range k.server.Repositories {
		k.repository(i, f.Repositories[i].Schedule)
		id := k.server.Repositories[i].id()
		if first, twice := seen[id]; twice {
			k.Fail("duplicate-repository", "duplicate repository", fmt.Sprintf("it is also number %d; remove one", first+1), "repositories", i)
		}
		seen[id] = i
	}
	k.server.Pages = k.pages(f.Pages)
}

// The paths at which a server answers requests itself. With pages, it also answers
// everything below the first parts in pagePaths.
var (
	probePaths = []string{"/healthz", "/readyz", "/metrics"}
	pagePaths  = []string{"", "api", "costs", "r", "sign-in", "sign-out", "static"}
)

// webhookPath demands a path at which only deliveries arrive.
func (k *serverChecker) webhookPath(path string, pages bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	var message, hint string
	switch {
	case !strings.HasPrefix(path, "/"):
		message, hint = fmt.Sprintf("`path` is %q", path), "begin it with a /"
	case strings.ContainsAny(path, "?#"):
		message, hint = fmt.Sprintf("`path` is %q, which is more than a path", path), "remove what follows the path"
	case slices.Contains(probePaths, path):
		message, hint = fmt.Sprintf("`path` is %s, where the server answers monitoring", path), "write another path, such as /hooks, here and in the webhook of the forge"
	case pages && slices.Contains(pagePaths, first):
		message, hint = fmt.Sprintf("`path` is %s, where the server has its pages", path), "write another path, such as /hooks, here and in the webhook of the forge"
	default:
		return
	}
	k.Fail("bad-path", message, hint, "webhook", "path")
}

// id is equal for entries that mean the same repository. Forges ignore the case of its
// name, and git distinguishes the case of an address.
func (r *Repository) id() string {
	if r.Name != "" {
		return strings.ToLower(r.Name + " " + r.Forge)
	}
	return strings.TrimSuffix(strings.TrimRight(r.URL, "/"), ".git")
}

// overlap reports whether two addresses need the same port of the same interface. Port 0
// is any free one.
func overlap(a, b string) bool {
	hostA, portA, err := net.SplitHostPort(a)
	hostB, portB, other := net.SplitHostPort(b)
	everywhere := func(host string) bool {
		addr, err := netip.ParseAddr(host)
		return host == "" || err == nil && addr.IsUnspecified()
	}
	return err == nil && other == nil && portA == portB && portA != "0" && (hostA == hostB || everywhere(hostA) || everywhere(hostB))
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n < 1<<16
}

// secret demands one place that holds it.
func (k *serverChecker) secret(s Secret, name string, where ...any) {
	switch {
	case s.Env != "" && s.File != "":
		k.Fail("ambiguous-field", fmt.Sprintf("`%s_env` and `%s_file` both hold it", name, name), "remove one of them", append(where, name+"_file")...)
	case s.Env != "":
		k.variable(s.Env, append(where, name+"_env")...)
	case s.File == "":
		k.Fail("missing-field", fmt.Sprintf("neither `%s_env` nor `%s_file` says where the secret is", name, name), fmt.Sprintf("add %s_env: GAVEL_%s", name, strings.ToUpper(name)), where...)
	}
}

func (k *serverChecker) credential(name string, c Credential) {
	at := []any{"credentials", name}
	switch app := c.AppID != 0 || c.Installation != 0 || c.Key != (Secret{}); {
	case app && c.Token != (Secret{}):
		k.Fail("ambiguous-field", fmt.Sprintf("the credential %q is a token and an App", name), "make two of them", at...)
	case app && c.AppID == 0:
		k.Fail("missing-field", "an App has an id", "add app_id", at...)
	case app:
		k.secret(c.Key, "private_key", at...)
	default:
		k.secret(c.Token, "token", at...)
	}
}

func (k *serverChecker) repository(i int, schedule string) {
	r := &k.server.Repositories[i]
	at := func(field string) []any { return []any{"repositories", i, field} }
	owner, name, both := strings.Cut(r.Name, "/")
	switch {
	case r.Name == "" && r.URL == "":
		k.Fail("missing-field", "the repository has neither a name nor a url", "add name: owner/name", "repositories", i)
	case r.Name != "" && (!both || owner == "" || name == "" || strings.Contains(name, "/")):
		k.Fail("bad-name", fmt.Sprintf("`name` is %q", r.Name), "write it as owner/name", at("name")...)
	}
	if r.Name == "" && (r.Forge != "" || r.DriftIssue != (DriftIssue{})) {
		k.Fail("missing-field", "a forge needs the repository's name", "add name: owner/name", "repositories", i)
	}
	k.url(r.Forge, at("forge")...)
	k.cloned(r.URL, at("url")...)
	credential, ok := k.server.Credentials[r.Credential]
	switch app := credential.AppID != 0; {
	case app && r.Name == "":
		k.Fail("missing-field", "an App speaks about repositories by their name", "add name: owner/name", "repositories", i)
	case app && strings.HasSuffix(r.Forge, "/api/v1"):
		k.Fail("wrong-value", "Gitea and Forgejo have no GitHub Apps", "name a credential with token_env or token_file", at("credential")...)
	case !ok && r.Credential != "":
		known := slices.Sorted(maps.Keys(k.server.Credentials))
		k.Fail("unknown-credential", fmt.Sprintf("unknown credential %q", r.Credential), cmp.Or(suggest.DidYouMean(r.Credential, known), "add it under credentials"), at("credential")...)
	}
	k.inside(r.Config, at("config")...)
	if schedule == "" {
		return
	}
	var err error
	// A text may bring a time zone of its own; ours comes first and wins.
	if r.Schedule, err = cron.ParseStandard("CRON_TZ=UTC " + schedule); err != nil {
		k.Fail("bad-schedule", fmt.Sprintf("`schedule` is %q: %v", schedule, err), `write minute hour day month weekday, such as "0 3 * * *" for every day at three`, at("schedule")...)
	}
}

// cloned demands an address that git may be sent to: of the schemes that git
// knows some run programs.
func (k *serverChecker) cloned(address string, where ...any) {
	if address == "" || filepath.IsAbs(address) {
		return
	}
	scheme, _, ok := strings.Cut(address, "://")
	if ok && (scheme == "https" || scheme == "http") {
		k.url(address, where...)
		return
	}
	if !ok || scheme != "ssh" {
		k.Fail("bad-url", "`url` is not the address of a repository", "write https://host/path, ssh://host/path or the absolute path of a folder", where...)
	}
}

// Stricter returns the stricter of two limits: its own, and an equal share of the
// limits that several have together.
func (l Limits) Stricter(all Limits, shares int) Limits {
	out := Limits{Calls: share(l.Calls, all.Calls, shares), Tokens: share(l.Tokens, all.Tokens, shares), USD: l.USD}
	if all.USD != nil {
		part := *all.USD / float64(shares)
		if l.USD != nil {
			part = min(part, *l.USD)
		}
		out.USD = &part
	}
	return out
}

func share(own, all *int64, shares int) *int64 {
	if all == nil {
		return own
	}
	part := *all / int64(shares)
	if own != nil {
		part = min(part, *own)
	}
	return &part
}

// UntilRestart names the fields that are only read at the start and have changed since.
func (s *Server) UntilRestart(start *Server) (fields []string) {
	for field, same := range map[string]bool{
		"listen": start.Listen == s.Listen,
		"probes": start.Probes == s.Probes,
		"data":   start.Data == s.Data,
		"ledger": start.Ledger == s.Ledger,
		"poll":   start.Poll == s.Poll,
	} {
		if !same {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
}
