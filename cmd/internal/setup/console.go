package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Console asks a person line by line.
type Console struct {
	In  io.Reader
	Out io.Writer

	lines chan line
}

// A line is one line of input, or the error of reading it.
type line struct {
	text string
	err  error
}

// ErrUnanswered means that the input ended before a question was answered.
var ErrUnanswered = errors.New("the input ended before the question was answered")

// read starts to read lines. A read from a terminal cannot be interrupted, so it has its
// own goroutine, which ends with the input or the program.
func (c *Console) read() {
	if c.lines != nil {
		return
	}
	c.lines = make(chan line)
	go func() {
		in := bufio.NewReader(c.In)
		for {
			text, err := in.ReadString('\n')
			if err != nil && text == "" {
				c.lines <- line{err: err}
				return
			}
			c.lines <- line{text: strings.TrimSpace(text)}
		}
	}()
}

// Line asks for a text. An empty answer means the default.
func (c *Console) Line(ctx context.Context, question, usual string) (string, error) {
	c.read()
	if usual != "" {
		question += " [" + usual + "]"
	}
	fmt.Fprint(c.Out, question+": ")
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-c.lines:
		switch {
		case errors.Is(got.err, io.EOF):
			fmt.Fprintln(c.Out)
			return "", ErrUnanswered
		case got.err != nil:
			return "", got.err
		case got.text == "":
			return usual, nil
		}
		return got.text, nil
	}
}

// AskRequired asks for a text until there is one.
func (c *Console) AskRequired(ctx context.Context, question, example string) (string, error) {
	for {
		text, err := c.Line(ctx, question, "")
		if text != "" || err != nil {
			return text, err
		}
		fmt.Fprintln(c.Out, "  An answer is needed, such as "+example)
	}
}

// Choose asks for one of several options by number, and returns its index. The first
// one is the default.
func (c *Console) Choose(ctx context.Context, question string, options []string) (int, error) {
	fmt.Fprintln(c.Out, question)
	for i, option := range options {
		fmt.Fprintf(c.Out, "  %d  %s\n", i+1, option)
	}
	for {
		text, err := c.Line(ctx, "Number", "1")
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(options) {
			fmt.Fprintln(c.Out)
			return n - 1, nil
		}
		fmt.Fprintf(c.Out, "  %q is not one of the numbers 1 to %d\n", text, len(options))
	}
}

// Agree asks whether something is to be done; yes is the default.
func (c *Console) Agree(ctx context.Context, question string) (bool, error) {
	for {
		text, err := c.Line(ctx, question, "Y/n")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(text) {
		case "y/n", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprintln(c.Out, "  Answer y or n")
	}
}
