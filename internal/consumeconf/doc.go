// Package consumeconf turns what an operator wrote, in flags, a configuration file, the environment and Flink's
// configuration, into a consume.Config, and remembers where every value came from.
//
// Keys are Flink's where Flink has one (scan.startup.mode, properties.group.id, execution.checkpointing.interval), in
// their present and older spellings, and koffset's own where it has none (from, until, rate). Layers are, strongest first:
//
//	flags > the file of --flink-conf > the job of --job > KOFFSET_CONSUME_* > consume.defaults of the configuration file
//
// Nothing is ignored silently: an older spelling works and warns with today's, both with different values are an error, an
// unknown key warns with the nearest name, and what has no effect in this run says so.
package consumeconf
