package ledger

// Tables are all that are known here.
var Tables = append(append([]string{}, tables...), passing...)
