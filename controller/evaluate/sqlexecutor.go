package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// sqlExecutor checks the statement in the final reply: one criterion per declared
// check, 1 if it holds, so that the score is their share (the sql_executor section of
// the domain dialect). The statement is run only when a check looks at the result.
// These checks fail for a reply without SQL and for SQL that does not run; a database
// that cannot be built is an error.
func sqlExecutor(ctx context.Context, spec evaluator.SQLExecutor, in Input, d *dialogue) (finding, error) {
	checks := statementChecks(spec)
	results := resultChecks(spec)
	if len(checks)+len(results) == 0 {
		return finding{}, errors.New("no check is declared")
	}
	if len(results) > 0 && len(spec.Database) == 0 {
		return finding{}, errors.New("a check looks at the result, and no database is given")
	}
	for _, n := range []*int{spec.MinRows, spec.MaxRows} {
		if n != nil && *n > sqlexec.MaxRows {
			return finding{}, fmt.Errorf("a check asks for %d rows; at most %d are counted", *n, sqlexec.MaxRows)
		}
	}
	text, err := takeSQL(ctx, in, d)
	if err != nil {
		return finding{}, err
	}
	if text == "" {
		return sqlFinding(checks, results, seen{text: in.Transcript.Final(), refused: "the reply contains no SQL"}), nil
	}
	s := seen{text: text, statement: sqlexec.Parse(text)}
	if len(results) > 0 {
		s.result, err = sqlexec.Query(ctx, spec.Database, text)
		if err != nil {
			return finding{}, err
		}
		s.failed = s.result.Refused
	}
	return sqlFinding(checks, results, s), nil
}

// seen is the input of the checks.
type seen struct {
	// text is the statement, or the reply if it has none.
	text      string
	statement sqlexec.Statement
	result    sqlexec.Result
	// refused is the reason why there is no statement, failed the reason why it has no
	// result.
	refused, failed string
}

// A check returns the reason why it does not hold, else nothing.
type check struct {
	id string
	// expected is what the check asks for, and actual what a result has of it; nil shows
	// the statement.
	expected string
	actual   func(sqlexec.Result) string
	wrong    func(seen) string
}

func sqlFinding(checks, results []check, s seen) finding {
	var f finding
	var notes []string
	add := func(c check, wrong string) {
		criterion := verdict.Criterion{ID: c.id, Score: share(wrong == ""), Note: wrong}
		if c.actual != nil && s.refused+s.failed == "" {
			contrast(&criterion, c.expected, c.actual(s.result))
		} else {
			contrast(&criterion, c.expected, s.text)
		}
		f.criteria = append(f.criteria, criterion)
		if wrong != "" && !slices.Contains(notes, wrong) {
			notes = append(notes, wrong)
		}
	}
	for _, c := range checks {
		if s.refused != "" {
			add(c, s.refused)
		} else {
			add(c, c.wrong(s))
		}
	}
	for _, c := range results {
		switch {
		case s.refused != "":
			add(c, s.refused)
		case s.failed != "":
			add(c, "the statement does not run: "+s.failed)
		default:
			add(c, c.wrong(s))
		}
	}
	f.reason = strings.Join(notes, "; ")
	if f.reason == "" {
		f.reason = fmt.Sprintf("all %d checks of the statement hold", len(f.criteria))
	}
	return f
}

func statementChecks(spec evaluator.SQLExecutor) []check {
	var checks []check
	if spec.QueryType != "" {
		checks = append(checks, check{"query_type", spec.QueryType, nil, func(s seen) string {
			if strings.EqualFold(strings.TrimSpace(spec.QueryType), s.statement.Type) {
				return ""
			}
			return fmt.Sprintf("the statement is %s, expected %s", quote(s.statement.Type), quote(spec.QueryType))
		}})
	}
	subset := func(id, what string, wanted []string, has func(sqlexec.Statement, string) bool) {
		if len(wanted) == 0 {
			return
		}
		checks = append(checks, check{id, strings.Join(wanted, ", "), nil, func(s seen) string {
			var missing []string
			for _, w := range wanted {
				if !has(s.statement, w) {
					missing = append(missing, w)
				}
			}
			if len(missing) == 0 {
				return ""
			}
			return "the statement lacks the " + what + " " + quoteAll(missing)
		}})
	}
	subset("table", "table", spec.Tables, func(s sqlexec.Statement, w string) bool {
		return slices.Contains(s.Tables, strings.ToLower(strings.TrimSpace(w)))
	})
	subset("clause", "clause", spec.Clauses, sqlexec.Statement.HasClause)
	subset("functions", "function", spec.Functions, sqlexec.Statement.HasFunction)
	return checks
}

func resultChecks(spec evaluator.SQLExecutor) []check {
	var checks []check
	columns := func(id, what string, wanted []string, present bool) {
		if len(wanted) == 0 {
			return
		}
		expected := strings.Join(wanted, ", ")
		if !present {
			expected = "without " + expected
		}
		names := func(r sqlexec.Result) string { return strings.Join(r.Columns, ", ") }
		checks = append(checks, check{id, expected, names, func(s seen) string {
			var wrong []string
			for _, w := range wanted {
				if hasColumn(s.result.Columns, w) != present {
					wrong = append(wrong, w)
				}
			}
			if len(wrong) == 0 {
				return ""
			}
			return "the result " + what + " " + quoteAll(wrong)
		}})
	}
	columns("expected_columns", "lacks the column", spec.Columns, true)
	columns("forbidden_columns", "has the forbidden column", spec.ForbiddenColumns, false)
	counted := func(r sqlexec.Result) string {
		if r.More {
			return "more than " + rowCount(r.Rows)
		}
		return rowCount(r.Rows)
	}
	if spec.MinRows != nil {
		checks = append(checks, check{"min_rows", "at least " + rowCount(*spec.MinRows), counted, func(s seen) string {
			if s.result.Rows >= *spec.MinRows {
				return ""
			}
			return fmt.Sprintf("the result has %d rows, expected at least %d", s.result.Rows, *spec.MinRows)
		}})
	}
	if spec.MaxRows != nil {
		checks = append(checks, check{"max_rows", "at most " + rowCount(*spec.MaxRows), counted, func(s seen) string {
			switch {
			case s.result.More:
				return fmt.Sprintf("the result has more than %d rows, expected at most %d", s.result.Rows, *spec.MaxRows)
			case s.result.Rows > *spec.MaxRows:
				return fmt.Sprintf("the result has %d rows, expected at most %d", s.result.Rows, *spec.MaxRows)
			}
			return ""
		}})
	}
	return checks
}

func rowCount(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func hasColumn(columns []string, name string) bool {
	return slices.ContainsFunc(columns, func(c string) bool {
		return strings.TrimSpace(Fold(c)) == strings.TrimSpace(Fold(name))
	})
}

// takeSQL finds the statement in the final reply. It takes the first block of code that
// is marked as SQL, else the first block that begins with a SQL verb, else the reply
// itself if it begins with one, else the extractor's answer. It is empty if the reply
// has no statement.
func takeSQL(ctx context.Context, in Input, d *dialogue) (string, error) {
	reply := in.Transcript.Final()
	if strings.TrimSpace(reply) == "" {
		return "", nil
	}
	blocks := fences(reply)
	for _, b := range blocks {
		if lang, _, _ := strings.Cut(b.Lang, " "); strings.HasPrefix(lang, "sql") || lang == "postgresql" || lang == "mysql" {
			return strings.TrimSpace(b.Body), nil
		}
	}
	for _, b := range blocks {
		if isSQL(b.Body) {
			return strings.TrimSpace(b.Body), nil
		}
	}
	if isSQL(reply) && !strings.Contains(strings.TrimSpace(reply), "\n\n") {
		return strings.TrimSpace(reply), nil
	}
	answer, err := extract(ctx, in, d, "a SQL statement. Copy it as it is written, without marks of code around it.")
	if err != nil || answer == nil {
		return "", err
	}
	return strings.TrimSpace(*answer), nil
}

// isSQL reports whether a text begins and continues as a statement: "With pleasure" and
// "Select one" are sentences.
func isSQL(text string) bool {
	st := sqlexec.Parse(text)
	if st.HasClause("WITH") && !st.HasClause("AS") {
		return false
	}
	switch st.Type {
	case "SELECT", "VALUES":
		return st.HasClause("FROM") || strings.HasSuffix(strings.TrimSpace(text), ";") || st.Type == "VALUES"
	case "INSERT", "REPLACE":
		return st.HasClause("INTO")
	case "UPDATE":
		return st.HasClause("SET")
	case "DELETE":
		return st.HasClause("FROM")
	case "CREATE", "DROP", "ALTER":
		return len(st.Tables) > 0
	}
	return false
}
