//go:build realkafka

package cmd_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/internal/kafkatest"
)

// real is the broker of this package's tagged tests, with secured listeners beside the plain one.
var real = kafkatest.Shared{Options: kafkatest.Options{Secure: true}}

func wrapMain(m *testing.M) testscript.TestingM { return real.Wrap(m) }
