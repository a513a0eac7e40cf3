// Package examples holds small repositories that show how tests are written,
// and the pull request that gavel demo judges.
//
// The recorded replies in them were written by hand: no model was asked.
package examples

import "embed"

// Domain is the repository of the domain dialect, below the folder domain.
//
//go:embed all:domain
var Domain embed.FS

// DomainChange is the demo's pull request on top of Domain, as a txtar
// archive; a file that is empty there is removed.
//
//go:embed pull_requests/domain.txtar
var DomainChange []byte
