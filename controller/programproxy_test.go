package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// grade is a program that asks a model as the libraries for the format do.
func grade() {
	req, err := http.NewRequest(http.MethodPost, os.Getenv("AGENTV_TARGET_PROXY_URL")+"/invoke", strings.NewReader(`{"question":"Is it polite?"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("AGENTV_TARGET_PROXY_TOKEN"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fmt.Println(res.StatusCode, string(body), err)
}

// TestAProgramAsksAModel in the sandbox, where that has the means, and without one.
func TestAProgramAsksAModel(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []sandbox.Mode{sandbox.Isolated, sandbox.Off} {
		t.Run(string(mode), func(t *testing.T) {
			r := NewProgramRunner(t.Context(), ProgramsConfig{Policy: sandbox.Policy{Accept: mode, Read: []string{self}}})
			defer r.Close()
			asked := ""
			proxy := evaluate.NewProxy("judge", 1, func(_ context.Context, _, question string) (string, error) {
				asked = question
				return "It is.", nil
			})
			out, err := r.Judges(Checkout{Commit: "c", FS: fstest.MapFS{"x": {}}})(t.Context(), evaluate.Start{
				Program: evaluator.Program{Argv: []string{self, "grade"}}, Proxy: proxy,
			})
			var unavailable *sandbox.Unavailable
			if errors.As(err, &unavailable) {
				t.Skip(err)
			}
			if err != nil || !strings.Contains(string(out), `"rawText":"It is."`) || asked != "Is it polite?" {
				t.Errorf("the program got %q (%v) for %q, want the answer of the model", out, err, asked)
			}
		})
	}
}
