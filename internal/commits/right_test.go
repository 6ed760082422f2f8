package commits

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A set that a broker did not fill in says nothing; one that it did says whether READ is in it.
func TestRightOf(t *testing.T) {
	const describe, read, remove = 1 << kmsg.ACLOperationDescribe, 1 << kmsg.ACLOperationRead, 1 << kmsg.ACLOperationDelete
	for operations, want := range map[int32]Right{
		math.MinInt32:              rightUnknown, // a broker that was not asked, or does not know
		0:                          rightUnknown,
		remove:                     rightUnknown,
		describe:                   MayNotCommit,
		describe | remove:          MayNotCommit,
		describe | read:            mayCommit,
		describe | read | remove:   mayCommit,
		math.MinInt32 | read | 256: rightUnknown,
	} {
		if got := rightOf(operations); got != want {
			t.Errorf("%b: %d, want %d", operations, got, want)
		}
	}
}
