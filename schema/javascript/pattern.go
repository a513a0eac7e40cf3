package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// MaxPattern bounds the bytes of a pattern.
const MaxPattern = 8 << 10

// A PatternError is about a pattern that JavaScript does not have.
type PatternError struct {
	Message string
	// Limit means that JavaScript has the pattern, and only this engine does not.
	Limit bool
}

// Error returns the engine's message.
func (e *PatternError) Error() string { return e.Message }

// Match reports whether a pattern of JavaScript with flags matches somewhere in a text.
// Its error is a [*PatternError], or means that matching took too much time or memory.
func Match(ctx context.Context, pattern, flags, text string) (bool, error) {
	out, err := askPattern(ctx, `(function (pattern, flags, text) {
	let made;
	try {
		made = new RegExp(pattern, flags);
	} catch (e) {
		return e.message;
	}
	return made.test(text);
})`, pattern, flags, text)
	if err != nil {
		return false, err
	}
	var found bool
	return found, json.Unmarshal(out, &found)
}

// CheckPattern returns nil if JavaScript has a pattern with its flags. Its error is a
// [*PatternError], or means that no child answered.
func CheckPattern(pattern, flags string) error {
	switch {
	case len(pattern) > MaxPattern:
		return &PatternError{Message: fmt.Sprintf("it has more than %d bytes", MaxPattern), Limit: true}
	case isPlain(pattern, flags):
		return nil
	}
	_, err := askPattern(context.Background(), `(function (pattern, flags) {
	try {
		new RegExp(pattern, flags);
	} catch (e) {
		return e.message;
	}
	return true;
})`, pattern, flags)
	return err
}

// askPattern calls a function that returns a truth, or the message about a pattern that
// is wrong.
func askPattern(ctx context.Context, code string, args ...string) (json.RawMessage, error) {
	c := Call{Code: code}
	for _, arg := range args {
		raw, _ := json.Marshal(arg) // a text
		c.Args = append(c.Args, raw)
	}
	out, err := Run(ctx, c)
	switch {
	case errors.Is(err, errTime):
		return nil, fmt.Errorf("the pattern takes longer than %v", MaxTime)
	case errors.Is(err, errMemory):
		return nil, fmt.Errorf("the pattern needs more memory than %d MiB", MaxMemory>>20)
	case err != nil:
		return nil, err
	case len(out.Value) == 0:
		return nil, errors.New("match the pattern: " + clip(out.Thrown+out.Invalid))
	}
	var message string
	if json.Unmarshal(out.Value, &message) == nil {
		return nil, &PatternError{Message: message, Limit: message == "too many captures" || strings.HasPrefix(message, "stack overflow") || strings.HasPrefix(message, "out of memory")}
	}
	return out.Value, nil
}

// isPlain reports whether both RE2 and JavaScript surely have a pattern, which then
// needs no child. Its meaning is not compared.
func isPlain(pattern, flags string) bool {
	if strings.Trim(flags, "gimsy") != "" || strings.Count(pattern, "(") > 200 || special.MatchString(pattern) {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

// special matches what one of the two may read in another way: an escape other than of a
// sign or a usual class, a group other than (?:, a class within a class, and a
// repetition of an assertion.
var special = lazyregexp.New(`\\[^dDwWsSbBnrtfv.*+?()|{}\[\]\\^$/-]|\(\?[^:]|\[:|[$^][*+?{]|\\[bB][*+?{]`)
