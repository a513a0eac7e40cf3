package load

import "testing"

func TestGavelignore(t *testing.T) {
	texts := seed()
	texts["test_definitions/math/level_1/broken.json"] = "{"
	texts["test_definitions/math/level_1/kept.json"] = "{"
	texts["test_definitions/drafts/one.json"] = "{}"
	texts[".gavelignore"] = "# not ready\ndrafts/\n/test_definitions/math/level_1/*\n!kept.json\n*.yaml\n"
	texts["test_definitions/sql/level_1/more.yaml"] = "\t"
	res := loadAll(t, texts)
	if len(res.Problems) != 1 || res.Problems[0].File != "test_definitions/math/level_1/kept.json" {
		t.Errorf("problems %v", res.Problems)
	}
	if len(res.Cases) != 4 {
		t.Errorf("%d cases, want those outside level 1 of math", len(res.Cases))
	}
}
