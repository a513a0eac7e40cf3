package document

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A Quantity is something that a definition is multiplied to.
type Quantity int

// The quantities that a Budget counts.
const (
	// Tests are read from a definition and from the files that it names. Rows are their
	// combinations of values, and Cases are the rows for each prompt and target.
	Tests Quantity = iota
	Rows
	Cases
	// Prompts and Providers multiply every test.
	Prompts
	Providers
	// Assertions are read, and become Evaluators of every case.
	Assertions
	Evaluators
	// Parts are the variables, files and tags that a test inherits from the shared
	// settings.
	Parts
	// Text is in the cases, and Values are in their assertions; both in bytes.
	Text
	Values
	// Reads are the bytes of the files that a definition names, each time it does.
	Reads
	// Problems are found in one definition.
	Problems

	quantities
)

// bounds are the most that one definition may have of each quantity.
var bounds = [quantities]struct {
	most int
	rule string
	// of precedes the amount and names its owner, and what names the amount.
	of, what, hint string
}{
	Tests:      {200_000, "too-many-rows", "the file makes", "%d cases", "split it, or name each file with tests once"},
	Rows:       {200_000, "too-many-rows", "the file makes", "%d cases", "split it, or give the variables fewer values"},
	Cases:      {200_000, "too-many-rows", "the file makes", "%d cases", "split it"},
	Prompts:    {MaxRows, "too-many-prompts", "the file has", "%d prompts", "split it; each of them makes a case"},
	Providers:  {MaxRows, "too-many-providers", "the file has", "%d providers", "split it; each of them makes a case"},
	Assertions: {200_000, "too-many-assertions", "the tests of the file have", "%d assertions", "split it, or share fewer assertions among all tests"},
	Evaluators: {200_000, "too-many-assertions", "the cases of the file have", "%d assertions", "split it, or share fewer assertions among all tests"},
	Parts:      {2_000_000, "too-many-parts", "the tests of the file take over", "%d variables and files", "split it, or share fewer of them among all tests"},
	Text:       {64 << 20, "too-many-bytes", "the cases of the file have", "%d MiB of text", "split it, or shorten what every row has"},
	Values:     {64 << 20, "too-many-bytes", "the assertions of the cases have", "%d MiB of text", "split the file, or shorten the assertions that every row has"},
	Reads:      {128 << 20, "too-many-bytes", "the files that this one names have", "%d MiB", "name each file once, or split this one"},
	Problems:   {100_000, "too-many-problems", "the file has", "%d mistakes", "correct what all tests share, or a file that is named often"},
}

// Most returns how much of a quantity one definition may have.
func (q Quantity) Most() int64 { return int64(bounds[q].most) }

// Words returns an amount of the quantity in words.
func (q Quantity) Words(amount int64) string {
	if q == Text || q == Values || q == Reads {
		amount >>= 20
	}
	return fmt.Sprintf(bounds[q].what, amount)
}

// Quantities lists all.
func Quantities() []Quantity {
	out := make([]Quantity, quantities)
	for i := range out {
		out[i] = Quantity(i)
	}
	return out
}

// MaxRows is how many cases a definition may have whose format multiplies its tests.
const MaxRows = 20_000

// A Budget bounds the multiplication of one definition. Loops ask it once per item,
// before they create the item: they stop if the bound is exceeded, or if the context
// has ended. [Source.Bounded] then reports it.
//
// A nil Budget bounds nothing and never ends.
type Budget struct {
	// ended is the error of the context.
	ended func() error
	// account also counts everything that is spent; nil for none.
	account Account
	spent   [quantities]int
	most    [quantities]int
	doc     *Document
	at      []any
}

// An Account counts the amounts of one of several definitions.
type Account interface {
	// Grow is called with each amount before it is created.
	Grow(q Quantity, n int)
	// Read is called with each file that the definition reads, and its role.
	Read(file, role string)
}

// Budgets makes the Budget of each definition of a load.
type Budgets struct {
	ctx  context.Context // of the load, whose budgets end with it
	open func(definition string) Account
}

// NewBudgets makes budgets that end with a context. open opens the account of a definition.
func NewBudgets(ctx context.Context, open func(definition string) Account) *Budgets {
	return &Budgets{ctx, open}
}

// of returns the budget of one definition. Nil Budgets have the same bounds.
func (b *Budgets) of(doc *Document) *Budget {
	out := &Budget{doc: doc}
	for q := range quantities {
		out.most[q] = bounds[q].most
	}
	if b != nil {
		out.ended, out.account = b.ctx.Err, b.open(doc.File)
	}
	return out
}

// A stop is the panic that ends the loops of a loader. It has no problem where the context
// ended.
type stop struct{ problem *schema.Problem }

// Multiplies bounds the cases of a definition whose format multiplies its tests.
func (b *Budget) Multiplies() {
	if b != nil {
		b.most[Tests], b.most[Rows], b.most[Cases] = MaxRows, MaxRows, MaxRows
	}
}

// At says which list of the definition is read from now on.
func (b *Budget) At(path ...any) {
	if b != nil {
		b.at = path
	}
}

// Go goes on unless the context has ended. Loops that make nothing ask it once an item.
func (b *Budget) Go() { b.Spend(Tests, 0) }

// Spend takes an amount that is about to be made. It does not return where that is more
// than the definition may have, or where the context has ended.
func (b *Budget) Spend(q Quantity, n int) {
	if b == nil {
		return
	}
	if b.spent[q] += n; b.spent[q] > b.most[q] {
		panic(stop{b.problem(q)})
	}
	if n > 0 && b.account != nil {
		b.account.Grow(q, n)
	}
	if b.ended != nil && b.ended() != nil {
		panic(stop{})
	}
}

// Within holds an amount that is about to be made to the bound, before any of it is spent.
func (b *Budget) Within(q Quantity, n int) {
	if b != nil && n > b.most[q] {
		panic(stop{b.problem(q)})
	}
}

// Found takes over how many problems there are.
func (b *Budget) Found(n int) {
	if b != nil && n > b.spent[Problems] {
		b.Spend(Problems, n-b.spent[Problems])
	}
}

// Uses takes over that the definition is compiled with a file.
func (b *Budget) Uses(file, role string) {
	if b != nil && b.account != nil {
		b.account.Read(file, role)
	}
}

// problem returns the problem of an exceeded bound.
func (b *Budget) problem(q Quantity) *schema.Problem {
	at := b.at
	for len(at) > 0 && !b.doc.Has(at...) {
		at = at[:len(at)-1]
	}
	p := b.doc.Problem(bounds[q].rule, fmt.Sprintf("%s more than %s", bounds[q].of, q.Words(int64(b.most[q]))), bounds[q].hint, at...)
	return &p
}

// Bounded compiles a definition within its own Budget, and with the inputs of its
// programs. Exceeding the budget is the only problem, without cases. If the context
// ends, there is no result.
func (s Source) Bounded(doc *Document, compile func(Source) ([]*schema.Case, []schema.Problem)) (cases []*schema.Case, problems []schema.Problem) {
	s.Budget = s.Budgets.of(doc)
	if doc.Has("programs", "inputs") {
		if s.Inputs, problems = programInputs(doc); len(problems) > 0 {
			return nil, problems
		}
	}
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case stop:
			if cases, problems = nil, nil; ended.problem != nil {
				problems = []schema.Problem{*ended.problem}
			}
		default:
			panic(ended)
		}
	}()
	return compile(s)
}

// programInputs are the globs that a definition names as further files of its programs, from
// the repository root.
func programInputs(doc *Document) (globs []string, problems []schema.Problem) {
	for i := 0; doc.Has("programs", "inputs", i); i++ {
		text := doc.Text("programs", "inputs", i)
		if text == "" {
			continue // which its schema refuses, or which names nothing
		}
		glob := path.Join(path.Dir(doc.File), text)
		if rooted, ok := strings.CutPrefix(text, "/"); ok {
			glob = path.Clean(rooted)
		}
		switch _, err := path.Match(glob, ""); {
		case !fs.ValidPath(glob):
			problems = append(problems, doc.Problem("path-escapes", fmt.Sprintf("the path %q leaves the repository", clip(text)), "name files inside it; a leading / means the repository root", "programs", "inputs", i))
		case err != nil || len(glob) > wildcard.MaxPattern:
			problems = append(problems, doc.Problem("bad-glob", fmt.Sprintf("the glob %q is malformed or too long", clip(text)), "close every [ and escape with \\", "programs", "inputs", i))
		}
		globs = append(globs, glob)
	}
	return globs, problems
}
