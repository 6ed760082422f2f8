//go:build realkafka

package kafkatest

// The secured listeners of a real broker: TLS, SASL, ACLs.

// securePorts is how many ports a secure node needs besides its plain one.
const securePorts = 2

// Secure is what a client needs to reach the secured listeners.
type Secure struct{}

func newSecure(string, []int) (*Secure, error) { return &Secure{}, nil }

func (s *Secure) properties(map[string]string) {}
