package target

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/schema"
)

// A piece of a message is a text, or an image if that is set.
type piece struct {
	text  string
	image *schema.Block
}

// pieces cuts a message into the pieces that a model is sent: files as their text,
// images in between. A message without an image is one text, which every server
// understands.
func pieces(m schema.Message) ([]piece, error) {
	var list []piece
	images := false
	for _, b := range m.Blocks {
		switch {
		case b.Type == "image":
			image := b
			list, images = append(list, piece{image: &image}), true
		case b.Data != nil:
			return nil, fmt.Errorf("the file %s is not text", b.Path)
		case b.Text != "":
			list = append(list, piece{text: b.Text})
		}
	}
	if !images {
		return []piece{{text: m.Content}}, nil
	}
	return list, nil
}

// onlyText returns the text of a message from a role that cannot have images in the
// protocol.
func onlyText(m schema.Message) (string, error) {
	list, err := pieces(m)
	switch {
	case err != nil:
		return "", err
	case len(list) == 1 && list[0].image == nil:
		return list[0].text, nil
	}
	return "", errors.New("a message of the role " + m.Role + " has an image")
}

// An opaqueContent is the content of a message's Opaque: the part of a provider's answer
// that it wants to get back and nothing else reads.
type opaqueContent struct {
	// Calls has the extra_content of OpenAI's protocol, by the ids of calls.
	Calls map[string]json.RawMessage `json:"calls,omitempty"`
	// Content is an answer of Anthropic's as it came.
	Content json.RawMessage `json:"content,omitempty"`
	// Items tell, as they came, which tools the vendor ran for a response.
	Items []json.RawMessage `json:"items,omitempty"`
}

func (k opaqueContent) opaque() json.RawMessage {
	if len(k.Calls)+len(k.Items) == 0 && k.Content == nil {
		return nil
	}
	// A value that came as JSON always encodes.
	raw, _ := json.Marshal(k)
	return raw
}

// keptIn reads a message's Opaque; one that somebody changed counts as empty.
func keptIn(m schema.Message) opaqueContent {
	var k opaqueContent
	if len(m.Opaque) == 0 || json.Unmarshal(m.Opaque, &k) != nil {
		return opaqueContent{}
	}
	return k
}

// dataURL returns an image as a data URL.
func dataURL(image *schema.Block) string {
	return "data:" + image.Media + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
}
