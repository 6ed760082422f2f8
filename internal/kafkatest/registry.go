//go:build realkafka

package kafkatest

// A schema registry: Apicurio, whose API is Confluent's too, from Maven Central.

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// registryVersion is the newest that runs on Java 17.
const registryVersion = "3.0.9"

// RegistryPath is where the API of Confluent's registry is on [StartRegistry]'s address.
const RegistryPath = "/apis/ccompat/v7"

// StartRegistry starts an empty schema registry that ends with the test. Its files (104 MB) are copied once.
func StartRegistry(t testing.TB) *Service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "apicurio-"+registryVersion)
	if _, err = filled(cache, dir, func() error {
		if err := run(ctx, "mvn", "-q", "-B", "dependency:copy", "-Dartifact=io.apicurio:apicurio-registry-app:"+registryVersion+":tar.gz:all", "-DoutputDirectory="+dir); err != nil {
			return err
		}
		packed := filepath.Join(dir, "apicurio-registry-app-"+registryVersion+"-all.tar.gz")
		if err := run(ctx, "tar", "-xzf", packed, "-C", dir); err != nil { // Maven's own unpacking takes its long names for other files
			return err
		}
		return os.Remove(packed)
	}); err != nil {
		t.Fatalf("the files of the schema registry: %v", err)
	}
	// Its files are in the cache of whoever runs the tests, which another user may not enter.
	return startService(t, ServiceOptions{Name: "apicurio", User: "root", Program: "java", Package: "openjdk-17-jre-headless",
		Args: func(s *Service) []string {
			return []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=127.0.0.1", fmt.Sprint("-Dquarkus.http.port=", s.Port),
				"-jar", filepath.Join(dir, "apicurio-registry-app-"+registryVersion+"-runner.jar")}
		},
		Ready: func(ctx context.Context, s *Service) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+RegistryPath+"/subjects", nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("HTTP status %d", resp.StatusCode)
			}
			return nil
		}})
}
