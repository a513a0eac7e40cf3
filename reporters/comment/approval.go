package comment

import "github.com/gavel-evals/gavel/schema/lazyregexp"

// approval is the command by which somebody lets a commit run.
var approval = lazyregexp.New(`\A/gavel approve [0-9a-f]{7,40}\z`)

// approve is the command that this pull request waits for; empty for none.
func (c *comment) approve() string {
	for _, command := range c.o.Commands {
		if approval.MatchString(command) {
			return command
		}
	}
	return ""
}

// approval writes the command that is waited for, as a block that a forge lets
// people copy.
func (c *comment) approval() {
	command := c.approve()
	if command == "" {
		return
	}
	c.line("To run this commit, somebody with write permission comments:")
	c.line("")
	c.line("```")
	c.line(command)
	c.line("```")
	c.line("")
}
