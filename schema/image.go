package schema

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// ImageFromURI decodes the part of a URI after data:, or returns nil if that is not an image in base64.
func ImageFromURI(uri string) []byte {
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

// ImageType returns the media type of a PNG, JPEG, GIF or WebP by its first bytes, since its name may
// be wrong. It is empty for anything else.
func ImageType(data []byte) string {
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
