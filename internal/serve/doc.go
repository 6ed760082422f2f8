// Package serve is the Prometheus endpoint of `koffset serve`.
//
// A refresh reads the cluster on its own schedule, renders everything with Prometheus' own text encoder and compresses it.
// A scrape copies those bytes and adds the few numbers that are of the moment: how old they are, and what koffset has cost
// Kafka so far. It never waits for a broker, so a slow cluster makes numbers old, and says how old, but never makes a
// scrape fail.
package serve
