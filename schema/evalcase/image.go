package evalcase

import (
	"encoding/base64"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// maxPath bounds a path; a longer text is a broken image.
const maxPath = 1024

// imageBlock reads an image: a data: URI, base64 that holds one, else a file.
func (c *compiler) imageBlock(p document.Place) (schema.Block, bool) {
	if c.known && c.target.AcceptsImages != nil && !*c.target.AcceptsImages {
		c.fail(p.Problem("no-images", "the target takes no images", "name another target, or describe the image in words", "value"))
	}
	value := p.Text("value")
	b := schema.Block{Type: "image"}
	if uri, ok := strings.CutPrefix(value, "data:"); ok {
		b.Data = schema.ImageFromURI(uri)
		if b.Media = schema.ImageType(b.Data); b.Media == "" {
			c.fail(p.Problem("no-image", "the data: URI holds no image that is known", "write data:image/png;base64,… or name a PNG, JPEG, GIF or WebP file", "value"))
			return b, false
		}
		return b, true
	}
	if data, err := base64.StdEncoding.DecodeString(value); err == nil && schema.ImageType(data) != "" {
		b.Data, b.Media = data, schema.ImageType(data)
		return b, true
	}
	if len(value) > maxPath {
		c.fail(p.Problem("no-image", "the image is neither base64 of a known image nor a path", "write data:image/png;base64,… or name a PNG, JPEG, GIF or WebP file", "value"))
		return b, false
	}
	f, ok := c.read(p.Sub("value"), value, "image", maxImage)
	if !ok {
		return b, false
	}
	b.Path, b.Data, b.Media = f.Path, f.Data, schema.ImageType(f.Data)
	if b.Media == "" {
		c.fail(p.Problem("no-image", f.Path+" is not a known type of image", "name a PNG, JPEG, GIF or WebP file", "value"))
		return b, false
	}
	return b, true
}
