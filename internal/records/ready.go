package records

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// connectAfter lets what is asked of the brokers now go first: kgo opens one connection to a broker at a time, and holds back
// whatever else is asked of it meanwhile.
const connectAfter = 20 * time.Millisecond

// Connect opens the connections on which records are fetched, to all brokers at the same time, and waits for none of them: a
// client fetches on connections of their own, so that a command which knows from its beginning that it will read records has
// the way there and the login behind it by then. It ends with ctx. Clusters of more than twelve brokers are left alone, and an
// error shows when the broker is needed.
func Connect(ctx context.Context, cl *kgo.Client) {
	const most = 12
	brokers := cl.DiscoveredBrokers()
	if len(brokers) > most {
		return
	}
	time.AfterFunc(connectAfter, func() {
		for _, b := range brokers {
			go func() {
				ctx, cancel := context.WithTimeout(ctx, DefaultBrokerTimeout)
				defer cancel()
				// Raw: it only opens the connection that fetches go over.
				req := kmsg.NewPtrFetchRequest() // of nothing, which is answered at once
				req.SessionEpoch = -1
				_, _ = b.Request(ctx, req)
			}()
		}
	})
}
