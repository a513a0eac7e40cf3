package target

import (
	"encoding/json"
	"errors"
)

// A singleRequest is an API that turns one text into one value.
type singleRequest struct {
	// Request is for a model and a text.
	Request func(model, text string) any
	// Read reads a reply. The error says that the value is missing.
	Read func(body []byte) (singleResult, error)
}

// A singleResult is the value that an API returns for a text, as JSON.
type singleResult struct {
	Value string
	Model string
	// Tokens is the number of tokens of the text by the provider's count.
	Tokens int64
}

// embeddingsRequest asks for a list of numbers.
func embeddingsRequest() singleRequest {
	return singleRequest{
		Request: func(model, text string) any {
			return map[string]string{"model": model, "input": text, "encoding_format": "float"}
		},
		Read: readEmbedding,
	}
}

func readEmbedding(body []byte) (singleResult, error) {
	var r struct {
		Model looseText `json:"model"`
		Data  []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt int64 `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := decodeReply(body, &r); err != nil || len(r.Data) != 1 || len(r.Data[0].Embedding) == 0 {
		return singleResult{}, errors.New("the reply has no embedding")
	}
	numbers, err := json.Marshal(r.Data[0].Embedding)
	return singleResult{Value: string(numbers), Model: string(r.Model), Tokens: r.Usage.Prompt}, err
}

// moderationsRequest asks for the categories that a text is flagged with, as an object
// of their scores.
func moderationsRequest() singleRequest {
	return singleRequest{
		Request: func(model, text string) any { return map[string]string{"model": model, "input": text} },
		Read:    readModeration,
	}
}

func readModeration(body []byte) (singleResult, error) {
	var r struct {
		Model   looseText `json:"model"`
		Results []struct {
			Categories map[string]bool    `json:"categories"`
			Scores     map[string]float64 `json:"category_scores"`
		} `json:"results"`
	}
	if err := decodeReply(body, &r); err != nil || len(r.Results) != 1 || r.Results[0].Categories == nil {
		return singleResult{}, errors.New("the reply has no categories")
	}
	flagged := map[string]float64{}
	for name, is := range r.Results[0].Categories {
		if is {
			flagged[name] = r.Results[0].Scores[name]
		}
	}
	value, err := json.Marshal(flagged)
	return singleResult{Value: string(value), Model: string(r.Model)}, err
}

// classificationRequest asks for the scores of the labels of a text, as an object. It
// is the API of Hugging Face for text classification, which has the model in its
// address.
func classificationRequest() singleRequest {
	return singleRequest{
		Request: func(_, text string) any { return map[string]string{"inputs": text} },
		Read:    readClassification,
	}
}

// A label with its score.
type label struct {
	Label looseText `json:"label"`
	Score float64   `json:"score"`
}

func readClassification(body []byte) (singleResult, error) {
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
		return singleResult{}, errors.New("the reply has no labels with scores")
	}
	value, err := json.Marshal(scores)
	return singleResult{Value: string(value)}, err
}
