package conn

// AWS_MSK_IAM: the keys, from the settings, the AWS variables or a profile of
// AWS's own credentials file. Roles of machines and containers are not asked
// for: `aws configure export-credentials --format env` gives their keys.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

func (s *Settings) awsMechanism(ctx context.Context) (sasl.Mechanism, error) {
	if _, err := s.awsAuth(ctx); err != nil {
		return nil, err
	}
	return aws.ManagedStreamingIAM(s.awsAuth), nil
}

// awsAuth finds the keys anew for each login: temporary ones are replaced in
// the credentials file while koffset runs. The order is that of AWS's tools:
// what is written for koffset, then a named profile, then the variables, then
// the default profile.
func (s *Settings) awsAuth(ctx context.Context) (aws.Auth, error) {
	if id := s.text("sasl.aws.access_key"); id != "" {
		secret, err := s.secret(ctx, "sasl.aws.secret_key")
		if err != nil {
			return aws.Auth{}, err
		}
		if secret == "" {
			return aws.Auth{}, s.missing(mechAWS, "sasl.aws.secret_key beside sasl.aws.access_key", "set sasl.aws.secret_key_file or sasl.aws.secret_key_command")
		}
		token, err := s.secret(ctx, "sasl.aws.session_token")
		if err != nil {
			return aws.Auth{}, err
		}
		return aws.Auth{AccessKey: id, SecretKey: secret, SessionToken: token}, nil
	}
	profile := s.text("sasl.aws.profile")
	if profile == "" && s.env["AWS_ACCESS_KEY_ID"] != "" && s.env["AWS_SECRET_ACCESS_KEY"] != "" {
		return aws.Auth{AccessKey: s.env["AWS_ACCESS_KEY_ID"], SecretKey: s.env["AWS_SECRET_ACCESS_KEY"], SessionToken: s.env["AWS_SESSION_TOKEN"]}, nil
	}
	return s.awsProfile(cmp.Or(profile, cmp.Or(s.env["AWS_PROFILE"], "default")))
}

func (s *Settings) awsProfile(name string) (aws.Auth, error) {
	const hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (aws configure export-credentials prints them), or sasl.aws.profile"
	file := s.paths.abs(cmp.Or(s.env["AWS_SHARED_CREDENTIALS_FILE"], "~/.aws/credentials"))
	data, err := wholefile.Read(file, maxSettings)
	if err != nil {
		return aws.Auth{}, s.missing(mechAWS, fmt.Sprintf("AWS keys; there are none in the settings or the environment, and %s cannot be read", file), hint)
	}
	sections, names := awsSections(data)
	sec, ok := sections[name]
	if !ok {
		return aws.Auth{}, s.missing(mechAWS, fmt.Sprintf("AWS keys; %s has no profile %q", file, name), cmp.Or(config.Near(name, names), hint))
	}
	a := aws.Auth{AccessKey: sec["aws_access_key_id"], SecretKey: sec["aws_secret_access_key"], SessionToken: sec["aws_session_token"]}
	if a.AccessKey == "" || a.SecretKey == "" {
		return aws.Auth{}, s.missing(mechAWS, fmt.Sprintf("AWS keys; the profile %q in %s holds none", name, file), hint)
	}
	return a, nil
}

// awsSections reads the INI form of the credentials file.
func awsSections(data []byte) (sections map[string]map[string]string, names []string) {
	sections = map[string]map[string]string{}
	var cur map[string]string
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			name, _, _ := strings.Cut(line[1:], "]")
			name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "profile "))
			cur = map[string]string{}
			sections[name] = cur
			names = append(names, name)
		case cur != nil:
			if k, v, ok := strings.Cut(line, "="); ok {
				cur[strings.ToLower(strings.TrimSpace(k))] = strings.TrimSpace(v)
			}
		}
	}
	return sections, names
}
