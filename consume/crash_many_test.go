//go:build realkafka

package consume_test

import "testing"

// The full number of kills, which takes a minute.
func TestCrashOften(t *testing.T) {
	_, cl := fake(t)
	testCrash(t, cl, "crash", crash{kills: 220, rate: "2500"})
}
