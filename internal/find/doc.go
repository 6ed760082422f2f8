// Package find looks for records by what is in them: conditions that are pure questions about one record, and the scan that
// asks them of stretches of logs.
//
// What was not read is never "not there". A scan tells for each partition how far it came and why not further, and counts
// the records of which a condition could not be asked: a value that is not JSON, a record without a time.
package find
