// Package kafkatest starts what tests talk to, and puts known data into it.
//
// Without a build tag it needs Go alone: [Fake] is an in-process kfake cluster, and the fixtures ([F1], [F2], [F3]) and
// helpers ([Produce], [Commit], [DeleteRecords], [JoinClassic]…) work on any cluster through a *kgo.Client.
//
// With the build tag realkafka it also starts a real Apache Kafka from Maven Central's jars (Java 17 or later and Maven must be
// on the PATH), as one broker or as three behind proxies ([Shared.Trio]), runs Kafka's own tools inside one JVM, and starts MirrorMaker 2, Flink jobs
// ([StartFlink]), PostgreSQL, MariaDB and Redis. kfake differs
// from Kafka on ACL filtering, KIP-848 describes and group states, so such behaviour is tested there.
//
// Everything listens on 127.0.0.1 on a free port, and everything is ended with the test, also when the test process is killed.
//
// Helpers take a prefix or a name, never invent a shared one: tests of a package share one broker, and two tests that use the
// same topic or group would see each other's data.
package kafkatest
