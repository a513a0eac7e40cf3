package ci

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/review"
)

// Writers checks the flags that decide whose programs a job runs: programs is one of
// [review.ProgramChoices], and bots are ids of accounts, separated by commas. The
// error names the flag.
func Writers(programs, bots string) (ids []int64, err error) {
	if !slices.Contains(review.ProgramChoices, programs) {
		return nil, fmt.Errorf("--programs: %q is not one of %s", programs, strings.Join(review.ProgramChoices, ", "))
	}
	for _, text := range strings.FieldsFunc(bots, func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, fmt.Errorf("--bots: %q is not the id of an account; write numbers, such as 41898282", text)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
