package provider

import (
	"encoding/json"
	"errors"
)

// A Single is an API that makes one value of one text.
type Single struct {
	// Request is for a model and a text.
	Request func(model, text string) any
	// Read reads a reply. The error says that the value is missing.
	Read func(body []byte) (Result, error)
}

// A Result is what an API made of a text: a value as JSON.
type Result struct {
	Value string
	Model string
	// Tokens are those of the text, as the provider counts them.
	Tokens int64
}

// Embeddings gives a list of numbers.
func Embeddings() Single {
	return Single{
		Request: func(model, text string) any {
			return map[string]string{"model": model, "input": text, "encoding_format": "float"}
		},
		Read: readEmbedding,
	}
}

func readEmbedding(body []byte) (Result, error) {
	var r struct {
		Model Text `json:"model"`
		Data  []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt int64 `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := Decode(body, &r); err != nil || len(r.Data) != 1 || len(r.Data[0].Embedding) == 0 {
		return Result{}, errors.New("the reply has no embedding")
	}
	numbers, err := json.Marshal(r.Data[0].Embedding)
	return Result{Value: string(numbers), Model: string(r.Model), Tokens: r.Usage.Prompt}, err
}

// Moderations gives the categories that a text is flagged with, as an object of their
// scores.
func Moderations() Single {
	return Single{
		Request: func(model, text string) any { return map[string]string{"model": model, "input": text} },
		Read:    readModeration,
	}
}

func readModeration(body []byte) (Result, error) {
	var r struct {
		Model   Text `json:"model"`
		Results []struct {
			Categories map[string]bool    `json:"categories"`
			Scores     map[string]float64 `json:"category_scores"`
		} `json:"results"`
	}
	if err := Decode(body, &r); err != nil || len(r.Results) != 1 || r.Results[0].Categories == nil {
		return Result{}, errors.New("the reply has no categories")
	}
	flagged := map[string]float64{}
	for name, is := range r.Results[0].Categories {
		if is {
			flagged[name] = r.Results[0].Scores[name]
		}
	}
	value, err := json.Marshal(flagged)
	return Result{Value: string(value), Model: string(r.Model)}, err
}

// Classification gives the scores of the labels of a text, as an object. It is the API of
// Hugging Face for text classification, which has the model in its address.
func Classification() Single {
	return Single{
		Request: func(_, text string) any { return map[string]string{"inputs": text} },
		Read:    readClassification,
	}
}

// A label with its score.
type label struct {
	Label Text    `json:"label"`
	Score float64 `json:"score"`
}

func readClassification(body []byte) (Result, error) {
	var one []label
	var each [][]label // of several texts
	if json.Unmarshal(body, &each) == nil && len(each) == 1 {
		one = each[0]
	} else if json.Unmarshal(body, &one) != nil {
		one = nil
	}
	scores := map[string]float64{}
	for _, l := range one {
		scores[string(l.Label)] = l.Score
	}
	if len(scores) == 0 {
		return Result{}, errors.New("the reply has no labels with scores")
	}
	value, err := json.Marshal(scores)
	return Result{Value: string(value)}, err
}
