package cmd

import "strings"

// again is a command to run later, with the flags that lead to the same cluster and the same journal. Without them a line
// that is copied from the screen would go to another cluster, or find no such undo id. Secrets are masked.
func (a *App) again(words ...string) string {
	g := &a.global
	args := append([]string{"koffset"}, words...)
	if len(g.brokers) > 0 {
		args = append(args, "-b", strings.Join(g.brokers, ","))
	}
	for _, f := range []struct{ flag, value string }{
		{"--profile", g.profile}, {"--config", g.config}, {"--command-config", g.commandConfig}, {"--state-dir", g.stateDir},
	} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	for _, x := range g.x {
		args = append(args, "-X", maskSetting(x))
	}
	return strings.Join(quoted(args), " ")
}
