// Package image tells images from other files.
package image

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// FromURI decodes the data after data: and returns nil for anything but an
// image in base64.
func FromURI(uri string) []byte {
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

// MediaType is the type of an image by its first bytes, since what it is called may be
// wrong: a PNG, JPEG, GIF or WebP. It is empty for anything else.
func MediaType(data []byte) string {
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
