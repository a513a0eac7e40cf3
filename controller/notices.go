package controller

import (
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/reporters"
)

// opened is what the report says of the file of the ledger, such as that the
// one before it was damaged.
func (p *Prepared) opened() []reporters.Notice {
	if p.Ledger == nil || p.Ledger.Notice() == "" {
		return nil
	}
	return []reporters.Notice{{Message: p.Ledger.Notice()}}
}

// vanished says that what was judged is not kept.
func (p *Prepared) vanished() []reporters.Notice {
	if p.Ledger == nil || p.Ledger.Vanished() == nil {
		return nil
	}
	return []reporters.Notice{{Message: recovery.Gone}}
}
