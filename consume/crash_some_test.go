//go:build !realkafka

package consume_test

// crashKills is how often each sink's process is killed; the tagged suite does it more often.
const crashKills = 25

// crashRate keeps the run from finishing before that.
const crashRate = "10000"
