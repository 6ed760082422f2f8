package offset

import "time"

// RecordTime says what the time of a record is worth.
type RecordTime uint8

// The three kinds of time that a record may carry.
const (
	// TimeAbsent: the record has no time. Producers may leave it out, which Kafka stores as -1.
	TimeAbsent RecordTime = iota
	// TimePlausible: the time lies in the past, or so little ahead that clocks may differ by that much.
	TimePlausible
	// TimeInFuture: the time lies ahead of the present by more than clocks differ. It says nothing about when the record was
	// written, and counting from it would make an age of zero.
	TimeInFuture
)

// ClockSkew is how far ahead of the present a record's time may be before it counts as wrong: clocks of producers, brokers
// and of whoever looks differ by seconds.
const ClockSkew = time.Minute

// TimeKind says what the record's time is worth, seen from a moment.
func (r Record) TimeKind(now time.Time) RecordTime {
	switch {
	case r.Time.IsZero():
		return TimeAbsent
	case r.Time.Sub(now) > ClockSkew:
		return TimeInFuture
	}
	return TimePlausible
}

// Age is how old the record is at a moment. ok is false where its time is absent or in the future. A time that is ahead by
// no more than ClockSkew is an age of zero.
func (r Record) Age(now time.Time) (age time.Duration, ok bool) {
	if r.TimeKind(now) != TimePlausible {
		return 0, false
	}
	return max(0, now.Sub(r.Time)), true
}

// TimeOf is the time of a record as franz-go gives it, zero where the record has none. franz-go counts nanoseconds since
// 1970 in 64 bits: a time after April 2262 comes out as one before 1970, which no record can have, and is turned back here.
// Times after July 2554 wrap a second time and cannot be told from earlier ones.
func TimeOf(t time.Time) time.Time {
	ns := t.UnixNano()
	switch {
	case t.IsZero() || ns == -int64(time.Millisecond):
		return time.Time{}
	case ns < 0:
		return time.UnixMilli(int64(uint64(ns) / uint64(time.Millisecond))).UTC()
	}
	return t.UTC()
}
