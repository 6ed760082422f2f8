package cli

import (
	"strings"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Again is a command to run later, with the flags that lead to the same cluster and the same journal. Without them a line
// that is copied from the screen would go to another cluster, or find no such undo id. Secrets are masked.
func (a *App) Again(words ...string) string {
	g := &a.Global
	args := append([]string{"koffset"}, words...)
	if len(g.brokers) > 0 {
		args = append(args, "-b", strings.Join(g.brokers, ","))
	}
	for _, f := range []struct{ flag, value string }{
		{"--profile", g.Profile}, {"--config", g.config}, {"--command-config", g.commandConfig}, {"--state-dir", g.stateDir},
	} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	for _, x := range g.x {
		args = append(args, "-X", maskSetting(x))
	}
	return text.Shell(args...)
}

// CommandLine is what was typed, for the journal and the audit log, without secrets.
func (a *App) CommandLine() string {
	out := []string{"koffset"}
	setting := false // the argument is the value of a -X before it
	for _, arg := range a.Args {
		arg, setting = maskArg(arg, setting)
		out = append(out, arg)
	}
	return text.Shell(out...)
}

// maskArg hides the secret in an argument: the value of a setting, and the password of a store's URL. next says that the
// argument after it is the value of a setting. Letters may stand before the X, as in -vX, and an = behind it.
func maskArg(arg string, setting bool) (masked string, next bool) {
	if setting {
		return maskSetting(arg), false
	}
	if after, ok := strings.CutPrefix(arg, "--set"); ok {
		if value, ok := strings.CutPrefix(after, "="); ok {
			return "--set=" + maskSetting(value), false
		}
		if after == "" {
			return arg, true
		}
	}
	if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
		if letters, value, ok := strings.Cut(arg, "X"); ok && !strings.Contains(letters, "=") {
			if value == "" {
				return arg, true
			}
			eq := ""
			if rest, ok := strings.CutPrefix(value, "="); ok {
				eq, value = "=", rest
			}
			return letters + "X" + eq + maskSetting(value), false
		}
	}
	return offset.Mask(arg), false
}

// maskSetting hides the value of a setting whose name says that it is secret.
func maskSetting(setting string) string {
	key, _, has := strings.Cut(setting, "=")
	low := strings.ToLower(key)
	for _, word := range []string{"password", "secret", "token", "jaas", "key"} {
		if has && strings.Contains(low, word) {
			return key + "=***"
		}
	}
	return setting
}
