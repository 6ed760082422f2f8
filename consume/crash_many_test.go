//go:build realkafka

package consume_test

// crashKills is how often each sink's process is killed.
const crashKills = 220

// crashRate keeps the run from finishing before that.
const crashRate = "2500"
