package evaluate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func TestKeyword(t *testing.T) {
	type kw = evaluator.Keyword
	for _, tt := range []struct {
		name, reply string
		spec        kw
		want        float64
	}{
		{"both", "Halo, selamat pagi!", kw{Keywords: []string{"halo", "SELAMAT"}}, 1},
		{"one of three", "Halo", kw{Keywords: []string{"halo", "selamat", "pagi"}}, 1. / 3},
		{"substring", "Kubernetes", kw{Keywords: []string{"bern"}}, 1},
		{"empty reply", "", kw{Keywords: []string{"halo"}}, 0},
		{"forbidden found", "Halo, maaf", kw{Keywords: []string{"halo"}, Forbidden: []string{"MAAF"}}, 0},
		{"forbidden absent", "Halo", kw{Keywords: []string{"halo"}, Forbidden: []string{"maaf"}}, 1},
		{"only forbidden, absent", "Halo", kw{Forbidden: []string{"maaf"}}, 1},
		{"only forbidden, empty reply", "", kw{Forbidden: []string{"maaf"}}, 1},
		{"only forbidden, found", "maaf", kw{Forbidden: []string{"maaf"}}, 0},
		{"a word twice counts twice", "a", kw{Keywords: []string{"a", "a", "b"}}, 2. / 3},
		{"sharp s", "STRASSE", kw{Keywords: []string{"straße"}}, 1},
		{"final sigma", "ΟΔΟΣ", kw{Keywords: []string{"οδος"}}, 1},
		{"decomposed accent", "cafe\u0301", kw{Keywords: []string{"Café"}}, 1},
		{"full width", "ＨＡＬＯ", kw{Keywords: []string{"halo"}}, 1},
		{"zero-width space hides nothing", "ma\u200baf", kw{Forbidden: []string{"maaf"}}, 0},
		{"soft hyphen hides nothing", "ma\u00adaf", kw{Forbidden: []string{"maaf"}}, 0},
		{"accents count", "cafe", kw{Keywords: []string{"café"}}, 0},
		{"invalid UTF-8", "ha\xfflo halo\xff", kw{Keywords: []string{"halo"}}, 1},
		{"whole word", "the cat.", kw{Keywords: []string{"cat"}, WholeWords: true}, 1},
		{"no whole word", "concatenate cats", kw{Keywords: []string{"cat"}, WholeWords: true}, 0},
		{"whole word after a part", "cats, cat", kw{Keywords: []string{"cat"}, WholeWords: true}, 1},
		{"whole word at the end of itself", "catcat cat", kw{Keywords: []string{"cat"}, WholeWords: true}, 1},
		{"overlapping part", "aaaa aa", kw{Keywords: []string{"aa"}, WholeWords: true}, 1},
		{"word that ends in a symbol", "C++, C++20", kw{Keywords: []string{"c++"}, WholeWords: true}, 1},
		{"whole word with letters of other scripts", "あcat", kw{Keywords: []string{"cat"}, WholeWords: true}, 0},
		{"forbidden whole word", "classic", kw{Forbidden: []string{"ass"}, WholeWords: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := measure(t, tt.spec, tt.reply, &script{})
			if m.Error != "" {
				t.Fatal(m.Error)
			}
			if got := score(t, tt.spec, m); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("score %v (%s), want %v", got, m.Reason, tt.want)
			}
		})
	}
}

func TestKeywordErrors(t *testing.T) {
	fails(t, measure(t, evaluator.Keyword{}, "x", &script{}), "neither")
	fails(t, measure(t, evaluator.Keyword{Keywords: []string{"x", " "}}, "x", &script{}), "empty word")
	fails(t, measure(t, evaluator.Keyword{Forbidden: []string{"\u200b"}}, "x", &script{}), "empty word")
}

func TestKeywordMeasurement(t *testing.T) {
	spec := evaluator.Keyword{Keywords: []string{"halo", "pagi"}, Forbidden: []string{"maaf"}}
	want := verdict.Measurement{
		Evaluator: "main",
		Criteria: []verdict.Criterion{
			{ID: "keyword halo", Score: 1}, {ID: "keyword pagi", Expected: "pagi", Actual: "Halo, maaf"}, {ID: "forbidden maaf", Veto: true},
		},
		Reason: `the reply contains the forbidden "maaf"; 1 of 2 keywords were found; missing: "pagi"`,
	}
	if diff := cmp.Diff(want, measure(t, spec, "Halo, maaf", &script{})); diff != "" {
		t.Errorf("measurement (-want +got):\n%s", diff)
	}
}

func TestKeywordReason(t *testing.T) {
	long := make([]string, 40)
	for i := range long {
		long[i] = strings.Repeat("word ", 100) + string(rune('a'+i))
	}
	for _, tt := range []struct {
		name, reply, want string
		spec              evaluator.Keyword
	}{
		{"all", "a b", "all 2 keywords were found", evaluator.Keyword{Keywords: []string{"a", "b"}}},
		{"empty", " \n", "the reply is empty", evaluator.Keyword{Keywords: []string{"a"}}},
		{"nothing forbidden", "x", "no forbidden word was found", evaluator.Keyword{Forbidden: []string{"a"}}},
		{"long lists are cut", "x", "30 more", evaluator.Keyword{Keywords: long}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := measure(t, tt.spec, tt.reply, &script{}).Reason
			if !strings.Contains(got, tt.want) || len(got) > 2000 {
				t.Errorf("reason %q, want %q", got, tt.want)
			}
		})
	}
}

func BenchmarkKeyword100KB(b *testing.B) {
	spec := evaluator.Keyword{Keywords: []string{"selamat", "straße", "absent"}, Forbidden: []string{"error"}, WholeWords: true}
	ev := schema.Evaluator{Name: "main", Spec: spec}
	for _, bb := range []struct{ name, text string }{{"ascii", "lorem ipsum "}, {"unicode", "größere Übung "}} {
		b.Run(bb.name, func(b *testing.B) {
			in := input("q", strings.Repeat(bb.text, 100_000/len(bb.text))+"selamat Straße", &script{})
			b.SetBytes(int64(len(in.Transcript.Final())))
			for b.Loop() {
				if m := measureB(b, ev, in); m.Criteria[0].Score != 1 {
					b.Fatal(m.Reason)
				}
			}
		})
	}
}
