// Package config is the engine of settings that come from several places: flags, the environment, YAML files with profiles
// or jobs, a Java client's .properties. It knows no setting. A [Table] of keys makes it the connection's configuration
// (internal/conn) or that of consume (internal/consumeconf), so that both treat a name alike:
//
//   - every value remembers where it came from, to the line of a file ([Source]);
//   - an old name works, and warns with the name of today; a name that nobody knows is told with the nearest one;
//   - one place that says two different things is an error, and between places the stronger one counts; of keys that are
//     ways to say one thing (a password, a file with it) the strongest place that has any of them decides.
//
// What a value means is left to the package of its table. Nothing here opens a connection, runs a command or prints.
package config
