package evalcase

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// maxPath is how long a path may be; what is longer is a broken image.
const maxPath = 1024

// imageBlock reads an image: a data: URI, base64 that holds one, else a file.
func (c *compiler) imageBlock(p part) (schema.Block, bool) {
	if c.known && c.target.AcceptsImages != nil && !*c.target.AcceptsImages {
		c.fail(p.problem("no-images", "the target takes no images", "name another target, or describe the image in words", "value"))
	}
	value := p.text("value")
	b := schema.Block{Type: "image"}
	if uri, ok := strings.CutPrefix(value, "data:"); ok {
		b.Data = fromURI(uri)
		if b.Media = mediaType(b.Data); b.Media == "" {
			c.fail(p.problem("no-image", "the data: URI holds no image that is known", "write data:image/png;base64,… or name a PNG, JPEG, GIF or WebP file", "value"))
			return b, false
		}
		return b, true
	}
	if data, err := base64.StdEncoding.DecodeString(value); err == nil && mediaType(data) != "" {
		b.Data, b.Media = data, mediaType(data)
		return b, true
	}
	if len(value) > maxPath {
		c.fail(p.problem("no-image", "the image is neither base64 of a known image nor a path", "write data:image/png;base64,… or name a PNG, JPEG, GIF or WebP file", "value"))
		return b, false
	}
	f, ok := c.read(p.sub("value"), value, "image", maxImage)
	if !ok {
		return b, false
	}
	b.Path, b.Data, b.Media = f.Path, f.Data, mediaType(f.Data)
	if b.Media == "" {
		c.fail(p.problem("no-image", f.Path+" is not a known type of image", "name a PNG, JPEG, GIF or WebP file", "value"))
		return b, false
	}
	return b, true
}

// fromURI decodes the data after data: and returns nil for anything but an
// image in base64.
func fromURI(uri string) []byte {
	head, body, ok := strings.Cut(uri, ",")
	if !ok || !strings.HasPrefix(head, "image/") || !strings.HasSuffix(head, ";base64") {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil
	}
	return data
}

// mediaType tells an image by its first bytes; what it is called may be wrong.
func mediaType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
