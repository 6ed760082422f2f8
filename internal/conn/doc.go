// Package conn turns what the operator said, in flags, files, profiles and the
// environment, into a connection to Kafka, and turns a connection that failed
// into words that say what to do.
//
// [Load] layers the inputs, strongest first:
//
//	flags (-b, -X key=value) > --command-config > the profile of --profile >
//	KOFFSET_* > the current profile > the file's defaults > built in
//
// and every value remembers where it came from. A profile that was not named
// with --profile lends its connection settings (brokers, TLS, credentials) only
// when its own brokers are used: `-b other:9092` never sends the current
// profile's password to another cluster. Guard rails are different. They
// protect a cluster and not a name, so [Settings.Guards] collects them from
// every profile that records the id of the cluster that was reached, and where
// several speak the strictest holds.
//
// Secrets can be written as files or commands (sasl.password_file,
// sasl.password_command). They are read in [Settings.Options], not before, so
// that showing a profile runs nothing. No message of this package contains the
// value of a secret.
//
// [Connect] reaches the cluster once before anything else is done. When that
// fails it asks the port two more questions (does it speak TLS, which SASL
// mechanisms does it offer), because "EOF" is what a client sees for four
// different mistakes.
package conn
