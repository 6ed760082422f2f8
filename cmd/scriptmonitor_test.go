package cmd_test

// Words of the scripts about the metrics endpoint:
//
//	scrape LOG FILE REGEX         GET the address that LOG names (serving http://…), again and again until a line matches, into FILE
//	webconfig FILE USER PASSWORD  write a web configuration for TLS with that password, and its certificate
//	knock LOG SCHEME USER PASSWORD STATUS   GET the metrics by http or https: the answer has that status, and metrics where it is 200

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/bcrypt"

	"github.com/koffset/koffset/internal/kafkatest"
)

func monitorWords() map[string]word {
	return map[string]word{"scrape": doScrape, "webconfig": doWebConfig, "knock": doKnock}
}

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

func doWebConfig(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, 3, "webconfig FILE USER PASSWORD")
	file := ts.MkAbs(args[0])
	dir := filepath.Dir(file)
	server, _ := testTLS(ts, dir)
	key, err := x509.MarshalPKCS8PrivateKey(server.Certificates[0].PrivateKey)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, "web.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	hash, err := bcrypt.GenerateFromPassword([]byte(args[2]), bcrypt.MinCost)
	ts.Check(err)
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, "tls_server_config: {cert_file: ca.pem, key_file: web.key}\nbasic_auth_users: {%s: '%s'}\n", args[1], hash), 0o600))
}

func doKnock(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 5, 5, "knock LOG SCHEME USER PASSWORD STATUS")
	w := worldOf(ts)
	log, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	m := regexp.MustCompile(`serving ([0-9.:]+)/metrics`).FindSubmatch(log)
	if m == nil {
		ts.Fatalf("%s names no address", args[0])
	}
	ca, err := os.ReadFile(ts.MkAbs("ca.pem"))
	ts.Check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, args[1]+"://"+string(m[1])+"/metrics", nil)
	ts.Check(err)
	if args[2] != "-" {
		req.SetBasicAuth(args[2], args[3])
	}
	var resp *http.Response
	kafkatest.Until(w.t, "the listener answers", func() bool {
		resp, err = client.Do(req)
		return err == nil
	})
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if got := strconv.Itoa(resp.StatusCode); got != args[4] || (got == "200") != strings.Contains(string(body), "koffset_up ") {
		ts.Fatalf("status %s, want %s: %s", got, args[4], body)
	}
}
