//go:build realkafka

package registry_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/registrytest"
)

// A real registry takes the recorded schemas, and what other encoders wrote by them is read by what it answers. Once it has ended,
// what is known stays known, and what is not is said.
func TestRealRegistry(t *testing.T) {
	t.Parallel()
	s := kafkatest.StartRegistry(t)
	base := "http://" + s.Addr + kafkatest.RegistryPath
	ids := map[int32]int32{} // of the recording: ours
	answers := registrytest.Answers(t)
	for n := int32(1); ; n++ { // in the order in which they were recorded: a schema comes after those that it needs
		a, ok := answers[fmt.Sprintf("/schemas/ids/%d", n)]
		if !ok {
			break
		}
		ids[n] = register(t, base, subjectOf(t, answers, n), a.Body)
	}
	d := open(t, base)
	for _, v := range registrytest.Values(t)[1:] {
		got := d.Decode(t.Context(), moved(v.Bytes, ids[v.ID]))
		if got.Err != nil || !got.Known || string(got.JSON) != v.JSON {
			t.Errorf("%s: %+v\n%s\nnot\n%s", v.Name, got.Err, got.JSON, v.JSON)
		}
	}
	if got := d.Decode(t.Context(), framed(9999, "x")); got.Known || got.Err == nil || !strings.Contains(got.Err.Error(), "no schema with that id") {
		t.Errorf("an id that is not there: %+v", got)
	}
	s.Stop()
	for i, v := range registrytest.Values(t)[:2] {
		got := d.Decode(t.Context(), moved(v.Bytes, ids[v.ID]))
		if known := i == 1; got.Known != known || (got.Err == nil) != known {
			t.Errorf("%s, without the registry: %+v", v.Name, got)
		}
	}
}

// moved is a value under another id.
func moved(b []byte, id int32) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[1:], uint32(id))
	return b
}

// subjectOf is the subject under which a schema was recorded.
func subjectOf(t *testing.T, answers map[string]registrytest.Answer, id int32) string {
	t.Helper()
	for path, a := range answers {
		var v struct {
			ID      int32
			Subject string
		}
		if strings.HasPrefix(path, "/subjects/") && json.Unmarshal([]byte(a.Body), &v) == nil && v.ID == id {
			return v.Subject
		}
	}
	t.Fatalf("schema %d has no subject", id)
	return ""
}

func register(t *testing.T, base, subject, body string) int32 {
	t.Helper()
	resp, err := http.Post(base+"/subjects/"+subject+"/versions", "application/vnd.schemaregistry.v1+json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var out struct{ ID int32 }
	if err := json.Unmarshal(text, &out); err != nil || resp.StatusCode != http.StatusOK || out.ID == 0 {
		t.Fatalf("%s: HTTP status %d, %v: %s", subject, resp.StatusCode, err, text)
	}
	return out.ID
}
