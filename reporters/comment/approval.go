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
	c.block("To run this commit, somebody with write permission comments:", c.approve())
	c.block("To have this commit judged without what it changes of the targets, somebody with write permission comments:", c.acceptance())
}

// acceptance is the command by which somebody clears what the commit changes of the targets;
// empty for none.
func (c *comment) acceptance() string {
	if c.r.TargetChanges == nil {
		return ""
	}
	for _, command := range c.o.Commands {
		if command == "/gavel accept "+c.r.TargetChanges.File+" <reason>" {
			return command
		}
	}
	return ""
}

// block writes a command that is waited for, if there is one.
func (c *comment) block(says, command string) {
	if command == "" {
		return
	}
	c.line(says)
	c.line("")
	c.line("```")
	c.line(command)
	c.line("```")
	c.line("")
}
