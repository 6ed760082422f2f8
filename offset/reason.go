package offset

// Reason says why a number is what it is. Its text is stable: it is shown in the HOW column and in JSON.
type Reason string

// How a target came about.
const (
	ReasonExact          Reason = "exact"              // the number that was asked for
	ReasonLogStart       Reason = "log-start"          // the first offset that can be read
	ReasonLogEnd         Reason = "log-end"            // the high watermark
	ReasonLastStable     Reason = "last-stable"        // the end under read_committed, where a transaction is open
	ReasonCommitted      Reason = "committed"          // the group's own commit
	ReasonRecord         Reason = "record-at-or-after" // the first record at or after a time
	ReasonNoRecord       Reason = "no-record-after"    // the partition has records, none at or after the time
	ReasonRetention      Reason = "before-retention"   // the first record left; earlier ones may have expired
	ReasonEmpty          Reason = "empty-partition"    // nothing can be read
	ReasonNoCommit       Reason = "no-commit"          // the group has no usable commit; what was taken follows
	ReasonExpired        Reason = "expired"            // the commit is below the log start; what was taken follows
	ReasonClampedToStart Reason = "clamped-to-start"   // out of range, and the setting out-of-range is clamp
	ReasonClampedToEnd   Reason = "clamped-to-end"     // out of range, and the setting out-of-range is clamp
	ReasonShifted        Reason = "shifted"            // a distance from the start, the end or the commit
	ReasonMaxTimestamp   Reason = "max-timestamp"      // the record with the largest timestamp
	ReasonLocalStart     Reason = "local-log-start"    // the first offset kept on the broker itself
	ReasonTieredEnd      Reason = "latest-tiered"      // the last offset in remote storage
	ReasonCopied         Reason = "copied"             // from another group, a file, a checkpoint or a store
	ReasonThen           Reason = "committed-then"     // what the group had committed at a time
	ReasonNotKnown       Reason = "not-known"          // what the group had committed at a time is not known; what was taken follows
	ReasonTranslated     Reason = "translated"         // from another cluster
	ReasonUnresolved     Reason = "unresolved"         // from another cluster, and no strategy found where
	ReasonSkipped        Reason = "skipped"            // left alone by a policy
	ReasonNotListed      Reason = "not-listed"         // the map, file or group says nothing about this partition
	ReasonNotTiered      Reason = "no-tiered-storage"  // the broker has no answer for a tiered position
	ReasonNegative       Reason = "negative-offset"    // a stored value that is no offset
	ReasonOutOfRange     Reason = "out-of-range"       // outside [log start, log end]
	ReasonUnreadable     Reason = "unreadable"         // the partition could not be read
	ReasonMarker         Reason = "marker"             // a word of another system instead of a number
	ReasonRestored       Reason = "restored"           // what was there before the operation that is undone
	ReasonDeleted        Reason = "deleted"            // the commit is removed
	ReasonMoved          Reason = "moved"              // the group committed something else since
)

// None says that the reason stands for the absence of an answer: what was taken instead is in the target's Detail.
func (r Reason) None() bool {
	switch r {
	case ReasonNoRecord, ReasonEmpty, ReasonNoCommit, ReasonNotListed, ReasonNotTiered, ReasonNotKnown:
		return true
	}
	return false
}
