package serve

import "testing"

// TestOneClientForACredential, under whatever names, so that no two writes of it
// are in progress at once.
func TestOneClientForACredential(t *testing.T) {
	o := newOperator(t, map[string]string{"TOKEN": "the-first-token", "OTHER": "the-second-token"}, `
credentials: {bot: {token_env: TOKEN}, "same bot": {token_env: TOKEN}, other: {token_env: OTHER}}
repositories:
  - {name: octo/one, credential: bot}
  - {name: octo/two, credential: bot}
  - {name: octo/three, credential: same bot}
  - {name: octo/four, credential: other}
  - {name: octo/five, credential: bot, forge: "https://git.example.org/api/v1"}
`)
	repos, err := o.Repositories()
	if err != nil {
		t.Fatal(err)
	}
	for i, same := range []bool{true, true, true, false, false} {
		if got := repos[i].Client == repos[0].Client; got != same {
			t.Errorf("%s shares the first one's client: %v, want %v", repos[i].Name, got, same)
		}
	}
}
