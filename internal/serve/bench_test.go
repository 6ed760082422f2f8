package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// largeCluster makes 1,000 groups of 100 partitions and one of 2,000, all committed: 102,000 partitions.
func largeCluster(b *testing.B) *kgo.Client {
	_, cl := kafkatest.FakeClient(b)
	kafkatest.CreateTopic(b, cl, "orders", 100)
	kafkatest.CreateTopic(b, cl, "wide", 2000)
	var rs []*kgo.Record
	for n := range int32(100) {
		rs = append(rs, kafkatest.Records("orders", n, 20, 1_700_000_000_000, 1000)...)
	}
	kafkatest.Produce(b, cl, rs...)
	commits := make([]kafkatest.Committed, 2000)
	for n := range commits[:100] {
		commits[n] = kafkatest.At("orders", int32(n), int64(n%20))
	}
	for g := range 1000 {
		kafkatest.Commit(b, cl, fmt.Sprintf("group-%04d", g), commits[:100]...)
	}
	for n := range commits {
		commits[n] = kafkatest.At("wide", int32(n), 0)
	}
	kafkatest.Commit(b, cl, "wide", commits...)
	return cl
}

func largeServer(cl *kgo.Client, compat string) *Server {
	return New(Options{
		Connect: func(context.Context) (*inspect.Sampler, error) {
			return &inspect.Sampler{Client: cl, Match: func(inspect.Group) bool { return true }, History: inspect.NewHistory(inspect.DefaultRules()), Now: time.Now}, nil
		},
		Interval: 15 * time.Second, Timeout: time.Minute, PerPartition: true, Compat: compat, Version: "test", Costs: &Costs{}, Now: time.Now, Warn: func(string, ...any) {},
	})
}

// BenchmarkBare is what a refresh asks Kafka, and nothing else.
func BenchmarkBare(b *testing.B) {
	cl := largeCluster(b)
	for b.Loop() {
		bare(b, cl)
	}
}

// bare sends the requests of a refresh and throws the answers away.
func bare(b testing.TB, cl *kgo.Client) {
	groups, _, err := inspect.ListGroups(b.Context(), cl)
	if err == nil {
		_, err = inspect.Read(b.Context(), cl, inspect.Query{Groups: groups})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkRefresh(b *testing.B) {
	for _, compat := range []string{"", KafkaExporter} {
		b.Run("compat="+compat, func(b *testing.B) {
			s := largeServer(largeCluster(b), compat)
			for b.Loop() {
				if err := s.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			p := s.page.Load()
			b.ReportMetric(float64(p.size)/1e6, "MB-text")
			b.ReportMetric(float64(len(p.gz))/1e6, "MB-gz")
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-live")
		})
	}
}

func BenchmarkScrape(b *testing.B) {
	s := largeServer(largeCluster(b), "")
	if err := s.Refresh(context.Background()); err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	for _, enc := range []string{"gzip", "identity"} {
		b.Run(enc, func(b *testing.B) {
			for b.Loop() {
				req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, srv.URL+"/metrics", nil)
				req.Header.Set("Accept-Encoding", enc)
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
