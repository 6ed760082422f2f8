package serve

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// Scrapes that run side by side and while refreshes replace the page each get a whole one, with 300 partitions of a group whose
// name has everything in it that a label must escape. Nothing is left running afterwards, also where rendering failed.
func TestScrapesDuringRefreshes(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "wide", 300)
	commits := make([]kafkatest.Committed, 300)
	for n := range commits {
		commits[n] = kafkatest.At("wide", int32(n), 0)
	}
	hard := "team/a#1:\"quoted\"\\ \nsecond line"
	kafkatest.Commit(t, cl, hard, commits...)
	r := newRig(cl, nil)
	r.refresh(t)
	before := runtime.NumGoroutine()
	stop, scrapers := make(chan struct{}), sync.WaitGroup{}
	for _, enc := range []string{"gzip", "identity"} {
		scrapers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := 0
				for k := range r.scrape(t, enc) {
					if strings.HasPrefix(k, "koffset_group_partition_committed_offset{") && strings.Contains(k, hard) {
						n++
					}
				}
				if n != 300 {
					t.Errorf("%s: %d of 300 partitions", enc, n)
					return
				}
			}
		})
	}
	for range 5 {
		r.refresh(t)
	}
	close(stop)
	scrapers.Wait()
	broken := errors.New("broken")
	for range 20 {
		if _, err := compress(func(w io.Writer) error {
			_, _ = w.Write(make([]byte, 3<<20))
			return broken
		}, nil, time.Time{}); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	kafkatest.Until(t, "no goroutine is left behind", func() bool { return runtime.NumGoroutine() <= before+5 })
}
