//go:build !realkafka

package cmd_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// wrapMain is where the tagged tests end their brokers.
func wrapMain(m *testing.M) testscript.TestingM { return m }
