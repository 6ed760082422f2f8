package consume

// How fast records are handed to the sink.

import "time"

// pacer spaces work so that it keeps to a rate, with bursts of up to a tenth of a second. It is told the time.
type pacer struct {
	rate  Rate
	start time.Time
	// free is when the next piece may go.
	free time.Time
}

const (
	burst     = 100 * time.Millisecond
	rampFloor = 0.05
	// longestPause is from where on a piece's pause is not counted exactly: 1B/h and a record of some megabytes come to more
	// than a Duration holds, which would be no pause at all.
	longestPause = 365 * 24 * time.Hour
)

func newPacer(r Rate, now time.Time) *pacer { return &pacer{rate: r, start: now, free: now} }

// share is the part of the full rate that is allowed now, during the ramp.
func (p *pacer) share(now time.Time) float64 {
	if p.rate.Ramp <= 0 {
		return 1
	}
	return min(1, max(rampFloor, float64(now.Sub(p.start))/float64(p.rate.Ramp)))
}

// wait is how long until the next piece may go.
func (p *pacer) wait(now time.Time) time.Duration { return max(0, p.free.Sub(now)) }

// spend accounts for a piece that went.
func (p *pacer) spend(now time.Time, records int, bytes int64) {
	share := p.share(now)
	var seconds float64
	if p.rate.Records > 0 {
		seconds = float64(records) / (p.rate.Records * share)
	}
	if p.rate.Bytes > 0 {
		seconds = max(seconds, float64(bytes)/(p.rate.Bytes*share))
	}
	// What was not used in the past is not saved up beyond the burst: after a pause the rate holds from the first record.
	if floor := now.Add(-burst); p.free.Before(floor) {
		p.free = floor
	}
	p.free = p.free.Add(time.Duration(min(seconds*float64(time.Second), float64(longestPause))))
}

// piece is how many records of one partition go at a time: small enough that partitions take turns many times a second.
func (p *pacer) piece(now time.Time) int {
	if p.rate.Records <= 0 {
		return 100
	}
	return int(min(500, max(1, p.rate.Records*p.share(now)/50)))
}

// current is the rate that is allowed now.
func (p *pacer) current(now time.Time) Rate {
	s := p.share(now)
	return Rate{Records: p.rate.Records * s, Bytes: p.rate.Bytes * s}
}
