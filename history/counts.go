package history

// Counts are what a replay met.
type Counts struct {
	Records int64 // all of them, of whatever group
	// Unknown are records of types that no Kafka up to 4.3 writes; Damaged those that cannot be decoded, with the first one's error.
	Unknown, Damaged int64
	FirstDamaged     error
	// Newer are among the damaged those that a newer Kafka wrote.
	Newer int64
	// Orphans are ends of transactions whose commits lie before what was read.
	Orphans int64
}

// Add adds what another replay met.
func (c *Counts) Add(o Counts) {
	c.Records += o.Records
	c.Unknown += o.Unknown
	c.Damaged += o.Damaged
	c.Newer += o.Newer
	c.Orphans += o.Orphans
	if c.FirstDamaged == nil {
		c.FirstDamaged = o.FirstDamaged
	}
}
