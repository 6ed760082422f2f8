//go:build realkafka

package kafkatest

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func TestSecureKafka(t *testing.T) {
	k := Start(t, Options{Secure: true})
	s := k.Secure()
	cl := k.Client(t)
	CreateTopic(t, cl, "a", 1)
	CreateTopic(t, cl, "b", 1)
	Commit(t, cl, "g", At("a", 0, 0), At("b", 0, 0))

	login := func(t *testing.T, m sasl.Mechanism) (*kgo.Client, error) {
		cl := Client(t, []string{s.SASLAddr}, kgo.DialTLSConfig(&tls.Config{RootCAs: s.Pool}), kgo.SASL(m))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return cl, cl.Ping(ctx)
	}
	for name, m := range map[string]sasl.Mechanism{
		"PLAIN":         plain.Auth{User: AdminUser, Pass: Password}.AsMechanism(),
		"SCRAM-SHA-256": scram.Auth{User: AdminUser, Pass: Password}.AsSha256Mechanism(),
		"SCRAM-SHA-512": scram.Auth{User: AdminUser, Pass: Password}.AsSha512Mechanism(),
		"OAUTHBEARER":   oauth.Auth{Token: Token(AdminUser, time.Hour)}.AsMechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			cl, err := login(t, m)
			if err != nil {
				t.Fatal(err)
			}
			if topics, err := kadm.NewClient(cl).ListTopics(t.Context()); err != nil || !topics.Has("b") {
				t.Errorf("the super user sees %v, %v", topics.Names(), err)
			}
		})
	}
	for name, m := range map[string]sasl.Mechanism{
		"wrong PLAIN password": plain.Auth{User: AdminUser, Pass: "no"}.AsMechanism(),
		"wrong SCRAM password": scram.Auth{User: AdminUser, Pass: "no"}.AsSha512Mechanism(),
		"expired token":        oauth.Auth{Token: Token(AdminUser, -time.Hour)}.AsMechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := login(t, m); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("login gave %v, want a refusal", err)
			}
		})
	}
	t.Run("client certificate", func(t *testing.T) {
		pair, err := tls.LoadX509KeyPair(s.ClientCertFile, s.ClientKeyFile)
		if err != nil {
			t.Fatal(err)
		}
		k.Allow(t, certUser, kmsg.ACLResourceTypeTopic, "b", kmsg.ACLOperationDescribe)
		cl := Client(t, []string{s.MutualAddr}, kgo.DialTLSConfig(&tls.Config{RootCAs: s.Pool, Certificates: []tls.Certificate{pair}}))
		if topics, err := kadm.NewClient(cl).ListTopics(t.Context()); err != nil || len(topics) != 1 || !topics.Has("b") {
			t.Errorf("the certificate's user sees %v, %v; want b alone", topics.Names(), err)
		}
	})
	t.Run("ACLs", func(t *testing.T) {
		cl := k.SASLClient(t, LimitedUser)
		adm := kadm.NewClient(cl)
		if _, err := adm.FetchOffsets(t.Context(), "g"); !errors.Is(err, kerr.GroupAuthorizationFailed) {
			t.Errorf("without rights: %v, want GROUP_AUTHORIZATION_FAILED", err)
		}
		k.Allow(t, LimitedUser, kmsg.ACLResourceTypeGroup, "g", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
		k.Allow(t, LimitedUser, kmsg.ACLResourceTypeTopic, "a", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
		got := Commits(t, cl, "g")
		if len(got) != 1 || len(got["a"]) != 1 {
			t.Errorf("with rights on a: commits %v, want a's alone", got)
		}
		if all := Commits(t, k.SASLClient(t, AdminUser), "g"); len(all) != 2 {
			t.Errorf("the super user reads %v, want both topics", all)
		}
	})
}
