//go:build !realkafka

package cmd_test

// crashPointsDefault keeps the untagged suite quick: 50 ms a point.
const crashPointsDefault = 60
