package provider

import (
	"encoding/json"
	"errors"
)

// An EmbeddingRequest asks for the numbers of a text.
type EmbeddingRequest struct {
	Model  string `json:"model"`
	Input  string `json:"input"`
	Format string `json:"encoding_format"`
}

// An EmbeddingReply has the numbers.
type EmbeddingReply struct {
	Model Text `json:"model"`
	Data  []struct {
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
	Usage struct {
		Prompt int64 `json:"prompt_tokens"`
	} `json:"usage"`
}

// Numbers are those of the one text, as JSON. The error says that there are none.
func (r EmbeddingReply) Numbers() (string, error) {
	if len(r.Data) != 1 || len(r.Data[0].Embedding) == 0 {
		return "", errors.New("the reply has no embedding")
	}
	numbers, err := json.Marshal(r.Data[0].Embedding)
	return string(numbers), err
}
