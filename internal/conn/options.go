package conn

// From settings to kgo's options.

import (
	"context"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/koffset/koffset/internal/config"
)

// Options are the kgo options of the connection: brokers, TLS, SASL, names,
// time-outs. It reads the files and runs the commands that secrets come from,
// within ctx. Errors are *config.Error.
func (s *Settings) Options(ctx context.Context) ([]kgo.Opt, error) {
	opts, _, err := s.options(ctx)
	return opts, err
}

// metadataMinAge is how old kgo lets metadata become before a look-up fetches
// it anew. Its default of 5 s hides partitions that were just added.
const metadataMinAge = 100 * time.Millisecond

func (s *Settings) options(ctx context.Context) ([]kgo.Opt, *dialer, error) {
	if len(s.Brokers) == 0 {
		return nil, nil, s.noBrokers()
	}
	cfg, err := s.tlsConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	mech, err := s.mechanism(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := s.newDialer(cfg)
	// Nothing may go on longer than the phase it serves.
	overhead := min(s.RequestTimeout, s.Timeout)
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.ClientID(s.ClientID),
		kgo.SoftwareNameAndVersion("koffset", softwareVersion(s.version)),
		// The dialler does TLS and has its own time-out of 5 s; kgo's
		// DialTimeout and DialTLSConfig do not apply beside it.
		kgo.Dialer(d.DialContext),
		kgo.RequestTimeoutOverhead(max(overhead, 100*time.Millisecond)),
		kgo.RetryTimeout(s.Timeout),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.MaxVersions(RequestVersions()),
		// Brokers can ask clients for their metrics (KIP-714); a tool that runs
		// for a second has none worth the requests.
		kgo.DisableClientMetrics(),
	}
	if mech != nil {
		opts = append(opts, kgo.SASL(login{mech, &d.waiting, &ending{}}))
	}
	return opts, d, nil
}

// RequestVersions are all that kgo knows, except for the newest ApiVersions. That
// one names the cluster and node (KIP-1242), every broker up to Kafka 4.3 refuses
// it, and each new connection then costs another round trip.
func RequestVersions() *kversion.Versions {
	v := new(kversion.Versions)
	for key := range int16(kmsg.MaxKey + 1) {
		if req := kmsg.RequestForKey(key); req != nil {
			v.SetMaxKeyVersion(key, req.MaxVersion())
		}
	}
	v.SetMaxKeyVersion(kmsg.ApiVersions.Int16(), 4)
	return v
}

func (s *Settings) noBrokers() error {
	e := &config.Error{Text: "no brokers: nothing says where the cluster is", Hint: "give {{brokers host:port}}, or {{profile NAME}}, or set KOFFSET_BROKERS"}
	if s.Profile != "" {
		e.Where = "profile " + s.Profile + " (" + config.Place(s.ConfigPath, s.file.lines[s.Profile]) + ")"
		e.Text = "the profile names no brokers"
	} else if len(s.file.order) > 0 {
		e.Hint += " (profiles: " + joinSome(s.file.order, 8) + ")"
	}
	return e
}

// softwareVersion makes a version fit for ApiVersions: brokers refuse a request
// with other characters, and a development build is called "(devel)".
func softwareVersion(v string) string {
	if regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$`).MatchString(v) {
		return v
	}
	return "unknown"
}
