package comment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Sharers know which pull requests have a commit as their head. Forges keep statuses
// per commit and not per pull request, so they share them.
type Sharers interface {
	// Heads reports whether a pull request is open and sha is its head now.
	Heads(ctx context.Context, number int, sha string) (bool, error)
	// Expected lists the open pull requests with the head sha that this process will
	// judge. complete means that no other process publishes.
	Expected(sha string) (numbers []int, complete bool)
}

// A Hold is the reason why a verdict waits for people.
type Hold string

// The holds. Each outweighs an undetermined verdict.
const (
	Approvable   Hold = "waits"   // until the head is approved by somebody with write permission
	Unapprovable Hold = "refused" // no approval helps
)

// A subject is the owner of a verdict.
type subject struct {
	// number is the pull request, 0 for the commit's branch.
	number int
	// queued means the merge group of that pull request.
	queued bool
}

// String names it in a description.
func (s subject) String() string {
	switch {
	case s.queued:
		return fmt.Sprintf("in the merge group of #%d", s.number)
	case s.number != 0:
		return fmt.Sprintf("in #%d", s.number)
	}
	return "on the branch"
}

// A claim is a subject's state of a commit in one context.
type claim struct {
	subject
	state State
	hold  Hold
	// words are empty if only the state is recorded.
	words string
	// page is the target of its status, without a record.
	page string
	id   int64 // the status's
}

// weight is lower for worse claims.
func (c claim) weight() int {
	return slices.Index([]string{string(StateFailure), string(Approvable), string(Unapprovable), string(StateError), string(StatePending), string(StateSuccess)}, c.kind())
}

// kind returns the state, or the hold if there is one.
func (c claim) kind() string {
	if c.state == StateError && c.hold != "" {
		return string(c.hold)
	}
	return string(c.state)
}

var namedWords = lazyregexp.New(`^(?:fails|waits|not run|undetermined|pending|passes) (?:in (?:the merge group of )?#\d|on the branch)[^·]*(?: · |$)`)

// description names the worst claims, with the words of the first one that has any.
func description(claims []claim) string {
	worst := claims[0]
	for _, c := range claims {
		if worst.words == "" && c.kind() == worst.kind() {
			worst.words = c.words
		}
	}
	return worded(claims, worst.words)
}

// worded names the worst claims, with words.
func worded(claims []claim, words string) string {
	worst := claims[0]
	worst.words = words
	if len(claims) == 1 && worst.state == StateSuccess && worst.words != "" {
		return textfmt.Clip(worst.words, maxDescription)
	}
	name := ""
	switch worst.kind() {
	case string(Approvable):
		name = fmt.Sprintf("waits %s: close #%d or approve it", worst.subject, worst.number)
	case string(Unapprovable):
		name = fmt.Sprintf("not run %s: close #%d", worst.subject, worst.number)
	default:
		verb := map[State]string{StateFailure: "fails", StateError: "undetermined", StatePending: "pending", StateSuccess: "passes"}[worst.state]
		name = verb + " " + places(slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.kind() != worst.kind() }))
	}
	if worst.words == "" {
		return textfmt.Clip(name, maxDescription)
	}
	return textfmt.Clip(name+" · "+worst.words, maxDescription)
}

// places lists the subjects of claims.
func places(claims []claim) string {
	const most = 4
	var names []string
	for i, c := range claims[:min(most, len(claims))] {
		name := c.String()
		if i > 0 {
			name = strings.TrimPrefix(name, "in ")
		}
		names = append(names, name)
	}
	if more := len(claims) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Parameters of the record in a target URL's query. The subject is pr or queue, and its
// state is the status's unless own has it. elsewhere means that the status belongs to
// another subject.
const (
	recordPull, recordQueue    = "pr", "queue"
	recordOwn, recordElsewhere = "own", "elsewhere"
)

// withRecord adds the claim to a target URL. elsewhere means that the status with the
// URL belongs to another subject. Without a URL there is no record.
func (c claim) withRecord(target string, elsewhere bool) string {
	u, err := url.Parse(target)
	if target == "" || err != nil {
		return target
	}
	query := u.Query()
	name := recordPull
	if c.queued {
		name = recordQueue
	}
	query.Set(name, strconv.Itoa(c.number))
	if elsewhere || c.kind() != string(c.state) {
		query.Set(recordOwn, c.kind())
	}
	if elsewhere {
		query.Set(recordElsewhere, "1")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// claim parses the record of a status. It reports false without one.
func (w wireStatus) claim() (claim, bool) {
	u, err := url.Parse(w.TargetURL)
	if err != nil {
		return claim{}, false
	}
	query := u.Query()
	c := claim{state: w.state(), id: w.ID}
	text := query.Get(recordPull)
	if c.queued = text == ""; c.queued {
		text = query.Get(recordQueue)
	}
	if c.number, err = strconv.Atoi(text); err != nil || c.number < 0 || c.queued && c.number == 0 {
		return claim{}, false
	}
	switch own := query.Get(recordOwn); own {
	case "":
	case string(Approvable), string(Unapprovable):
		c.state, c.hold = StateError, Hold(own)
	default:
		c.state = State(own)
	}
	if c.weight() < 0 {
		return claim{}, false
	}
	if query.Get(recordElsewhere) == "" {
		c.words = namedWords.ReplaceAllString(w.Description, "")
	}
	for _, name := range []string{recordPull, recordQueue, recordOwn, recordElsewhere} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	c.page = u.String()
	return c, true
}

// StatusPullRequest returns the pull request of our status by its target URL, 0 for
// none. It reports false for every other status, including earlier versions'.
func StatusPullRequest(target string) (number int, ours bool) {
	c, recorded := wireStatus{State: StateSuccess, TargetURL: target}.claim()
	if c.queued {
		return 0, recorded
	}
	return c.number, recorded
}

// A standing has the statuses of a commit.
type standing struct {
	sha string
	// newest is the last status of each context, by its lower case; by has each
	// subject's last one, and unrecorded the last one without a record.
	newest, unrecorded map[string]wireStatus
	by                 map[string]map[subject]claim
	// heads caches pull requests that were looked up.
	heads map[int]bool
	// shared means that another subject has the commit.
	shared bool
}

// note adds a status, newest first.
func (at *standing) note(w wireStatus) {
	context := strings.ToLower(w.Context)
	if before, there := at.newest[context]; !there || w.ID > before.ID {
		at.newest[context] = w
	}
	c, recorded := w.claim()
	if !recorded {
		if before, there := at.unrecorded[context]; !there || w.ID > before.ID {
			at.unrecorded[context] = w
		}
		return
	}
	if at.by[context] == nil {
		at.by[context] = map[subject]claim{}
	}
	if before, there := at.by[context][c.subject]; !there || c.id > before.id {
		at.by[context][c.subject] = c
	}
}

// own returns a subject's state in a context. Without records, every status belongs to
// its only subject.
func (at *standing) own(context string, who subject) State {
	context = strings.ToLower(context)
	if c, there := at.by[context][who]; there {
		return c.state
	}
	return at.unrecorded[context].state()
}

// isHead checks once whether a pull request is open with the commit as its head.
func (p *Publisher) isHead(ctx context.Context, at *standing, number int) (bool, error) {
	head, asked := at.heads[number]
	if asked {
		return head, nil
	}
	head, err := p.cfg.Sharers.Heads(ctx, number, at.sha)
	if err != nil {
		return false, fmt.Errorf("find out whether #%d has the head %.12s: %w", number, at.sha, err)
	}
	at.heads[number] = head
	return head, nil
}

// others returns the claims of all other subjects with the commit, the worst first. A
// pull request that expects a verdict and has none is pending.
func (p *Publisher) others(ctx context.Context, at *standing, name string) ([]claim, error) {
	if p.cfg.Sharers == nil {
		return nil, nil
	}
	var all []claim
	me, context := p.subject(), strings.ToLower(name)
	for who, c := range at.by[context] {
		if who != me {
			all = append(all, c)
		}
	}
	expected, _ := p.cfg.Sharers.Expected(at.sha)
	for _, number := range expected {
		who := subject{number: number}
		_, there := at.by[context][who]
		if !there && who != me && (name == ContextVerdict || name == ContextValidate) {
			all = append(all, claim{subject: who, state: StatePending})
		}
	}
	slices.SortFunc(all, func(a, b claim) int { return cmp.Or(a.weight()-b.weight(), a.number-b.number) })
	var open []claim
	for _, c := range all {
		head := true
		if c.number != 0 && !c.queued {
			var err error
			if head, err = p.isHead(ctx, at, c.number); err != nil {
				return nil, err
			}
		}
		if head {
			open = append(open, c)
		}
	}
	at.shared = at.shared || len(open) > 0
	return open, nil
}

// strongest drops a branch's claim if a pull request has the commit, too.
func strongest(claims []claim) []claim {
	strong := slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.number == 0 })
	if len(strong) == 0 {
		return claims
	}
	return strong
}

// subject returns the owner of the publisher's statuses.
func (p *Publisher) subject() subject { return subject{p.cfg.Number, p.cfg.Queued} }

// shown returns the commit's status in the context of s after the publisher's subject
// has published s, and whether it must be written.
func (p *Publisher) shown(ctx context.Context, at *standing, s Status) (want Status, needed bool, err error) {
	me := claim{subject: p.subject(), state: s.State, hold: s.Hold, words: s.Description}
	others, err := p.others(ctx, at, s.Context)
	if err != nil {
		return s, false, err
	}
	newest, context := at.newest[strings.ToLower(s.Context)], strings.ToLower(s.Context)
	if len(others) == 0 {
		if p.cfg.Sharers != nil {
			s.TargetURL = me.withRecord(s.TargetURL, false)
		}
		// An equal status of an earlier version stays: nobody else has the commit.
		_, recorded := newest.claim()
		return s, !newest.equals(s) && (recorded || newest.TargetURL != "" || newest.state() != s.State || newest.Description != s.Description), nil
	}
	if me.number != 0 && !me.queued {
		head, err := p.isHead(ctx, at, me.number)
		if err != nil {
			return s, false, err
		}
		if !head {
			want, needed = p.left(at, s.Context, others)
			return want, needed, nil
		}
	}
	all := append(slices.Clone(others), me)
	slices.SortStableFunc(all, func(a, b claim) int { return cmp.Or(a.weight()-b.weight(), a.number-b.number) })
	all = strongest(all)
	elsewhere := all[0].subject != me.subject
	want = Status{Context: s.Context, State: all[0].state, Description: description(all), TargetURL: me.withRecord(s.TargetURL, elsewhere)}
	before, recorded := at.by[context][me.subject]
	same := newest.state() == want.State && newest.Description == want.Description
	for _, c := range others { // any words are fine
		same = same || newest.state() == want.State && c.kind() == all[0].kind() && c.words != "" && newest.Description == worded(all, c.words)
	}
	if elsewhere && me.state == StatePending { // it will be replaced soon, and another status adds nothing
		return want, newest.state() != want.State, nil
	}
	return want, !same || !recorded || before.kind() != me.kind(), nil
}

// left returns a context's status without the publisher's subject, and whether it must
// be written.
func (p *Publisher) left(at *standing, context string, others []claim) (want Status, needed bool) {
	others = strongest(others)
	worst, newest := others[0], at.newest[strings.ToLower(context)]
	if worst.page == "" { // it has no status yet and gets one
		return Status{}, false
	}
	want = Status{Context: context, State: worst.state, Description: description(others), TargetURL: worst.withRecord(worst.page, false)}
	if len(others) == 1 && worst.words != "" {
		want.Description = worst.words
	}
	return want, newest.state() != want.State || newest.Description != want.Description
}

// Leave sets a commit's statuses to the result of its remaining subjects, once the
// publisher's pull request was closed or has another head. Without others it writes
// nothing; it reports whether there are any.
func (p *Publisher) Leave(ctx context.Context, sha string) (shared bool, err error) {
	op := fmt.Sprintf("set the statuses of %s/%s@%.12s without #%d", p.cfg.Owner, p.cfg.Name, sha, p.cfg.Number)
	at, err := p.statusesOf(ctx, sha)
	if err == nil {
		shared, err = p.leave(ctx, at)
	}
	return shared, p.explain(op, writeStatuses, err)
}

// LeaveCheck does the same for the check run, after [Publisher.Leave].
func (p *Publisher) LeaveCheck(ctx context.Context, sha string) error {
	op := fmt.Sprintf("set check run %s of %s/%s@%.12s without #%d", CheckName, p.cfg.Owner, p.cfg.Name, sha, p.cfg.Number)
	at, err := p.statusesOf(ctx, sha)
	if err == nil {
		err = p.leaveCheck(ctx, at)
	}
	return p.explain(op, writeChecks, err)
}

// leave reports whether another subject has the commit.
func (p *Publisher) leave(ctx context.Context, at *standing) (shared bool, err error) {
	for _, context := range slices.Sorted(maps.Keys(at.by)) {
		others, err := p.others(ctx, at, context)
		if err != nil {
			return at.shared, err
		}
		head := false
		if me := p.subject(); me.number != 0 && !me.queued && len(others) > 0 {
			if head, err = p.isHead(ctx, at, me.number); err != nil {
				return at.shared, err
			}
		}
		if len(others) == 0 || head {
			continue
		}
		want, needed := p.left(at, at.newest[context].Context, others)
		if !needed {
			continue
		}
		if err := p.createStatus(ctx, at.sha, want); err != nil {
			return at.shared, err
		}
	}
	return at.shared, nil
}
