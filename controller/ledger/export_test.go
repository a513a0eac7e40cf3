package ledger

// Tables are all that are known here.
var Tables = append(append([]string{}, tables...), passing...)

// StoreKept makes the leases in memory rows.
var StoreKept = (*Ledger).storeKept
