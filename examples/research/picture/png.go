package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// cropped returns a picture without the rows at its end that have one color.
func cropped(raw []byte) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	bounds := whole.Bounds()
	empty := whole.At(bounds.Min.X, bounds.Max.Y-1)
	last := bounds.Max.Y
	for last > bounds.Min.Y+1 && oneColor(whole, last-1, empty) {
		last--
	}
	bounds.Max.Y = min(last+margin, bounds.Max.Y)
	part := image.NewRGBA(bounds)
	draw.Draw(part, bounds, whole, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, part)
	return out.Bytes(), err
}

func oneColor(picture image.Image, y int, want color.Color) bool {
	for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
		if picture.At(x, y) != want {
			return false
		}
	}
	return true
}

// stamped adds the source of the picture, as a text of the PNG. The end of a PNG is its
// last 12 bytes.
func stamped(picture, page []byte) []byte {
	const end = 12
	body := append([]byte("tEXt"), stamp(page)...)
	out := bytes.Clone(picture[:len(picture)-end])
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)-len("tEXt"))) //nolint:gosec // under a hundred bytes
	out = append(out, body...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, picture[len(picture)-end:]...)
}

// stamp returns that text: its name and the digest of the page.
func stamp(page []byte) []byte {
	return fmt.Appendf(nil, "Source\x00sha256:%x", sha256.Sum256(page))
}
