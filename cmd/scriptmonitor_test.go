package cmd_test

// Words of the scripts about the metrics endpoint:
//
//	scrape LOG FILE REGEX         GET the address that LOG names (serving http://…), again and again until a line matches, into FILE

import (
	"io"
	"net/http"
	"os"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/internal/kafkatest"
)

func monitorWords() map[string]word { return map[string]word{"scrape": doScrape} }

func doScrape(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, 3, "scrape LOG FILE REGEX")
	w := worldOf(ts)
	re, err := regexp.Compile(`(?m)^` + args[2])
	ts.Check(err)
	log, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	m := regexp.MustCompile(`(?:serving|metrics at) (http://\S+/metrics)`).FindSubmatch(log)
	if m == nil {
		ts.Fatalf("%s names no address", args[0])
	}
	kafkatest.Until(w.t, "the metrics match "+args[2], func() bool {
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, string(m[1]), nil)
		ts.Check(err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || !re.Match(b) {
			return false
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
		return true
	})
}
