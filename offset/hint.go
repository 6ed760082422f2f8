package offset

import (
	"slices"
	"strings"
)

// Setting is something that a caller decides, by the name that it has in all packages. Packages name settings in their hints;
// how one is spelled on a command line, in a file or on a form is for whoever has those to say.
type Setting string

// The settings that hints name. There are no others.
const (
	SetAllowDrift       Setting = "allow-drift"
	SetAllowRewind      Setting = "allow-rewind"
	SetAllowUnproven    Setting = "allow-unproven"
	SetBrokers          Setting = "brokers"
	SetCheckpointDir    Setting = "checkpoint-dir"
	SetCheckpointEvery  Setting = "checkpoint-interval"
	SetCommandConfig    Setting = "command-config"
	SetConfig           Setting = "config"
	SetEnd              Setting = "end"
	SetExact            Setting = "exact"
	SetGroup            Setting = "group"
	SetGroupMatch       Setting = "group-match"
	SetIfExpired        Setting = "if-expired"
	SetIfNoCommit       Setting = "if-no-commit"
	SetIfNone           Setting = "if-none"
	SetIfUnknown        Setting = "if-unknown"
	SetJobName          Setting = "job-name"
	SetJoin             Setting = "join"
	SetMapGroup         Setting = "map-group"
	SetMarker           Setting = "marker"
	SetMaxSeries        Setting = "max-series"
	SetMaxSkip          Setting = "max-skip"
	SetMoveGroup        Setting = "move-group"
	SetNoPager          Setting = "no-pager"
	SetOnForeignCommit  Setting = "on-foreign-commit"
	SetOutOfRange       Setting = "out-of-range"
	SetOutput           Setting = "output"
	SetProfile          Setting = "profile"
	SetRate             Setting = "rate"
	SetRepair           Setting = "repair"
	SetRestore          Setting = "restore"
	SetRestoreWith      Setting = "restore-with"
	SetShowSettings     Setting = "show-settings"
	SetSkipUnresolved   Setting = "skip-unresolved"
	SetSpecificOffsets  Setting = "startup-specific-offsets"
	SetStart            Setting = "start"
	SetStartupTimestamp Setting = "startup-timestamp-millis"
	SetStrategy         Setting = "strategy"
	SetTimeZone         Setting = "time-zone"
	SetTimeout          Setting = "timeout"
	SetTolerable        Setting = "tolerable-failed-checkpoints"
	SetWaitEmpty        Setting = "wait-empty"
	SetWindow           Setting = "window"
)

// Settings are all of them.
func Settings() []Setting {
	return []Setting{SetAllowDrift, SetAllowRewind, SetAllowUnproven, SetBrokers, SetCheckpointDir, SetCheckpointEvery, SetCommandConfig, SetConfig, SetEnd, SetExact, SetGroup, SetGroupMatch, SetIfExpired, SetIfNoCommit, SetIfNone, SetIfUnknown,
		SetJobName, SetJoin, SetMapGroup, SetMarker, SetMaxSeries, SetMaxSkip, SetMoveGroup, SetNoPager, SetOnForeignCommit, SetOutOfRange, SetOutput, SetProfile, SetRate, SetRepair, SetRestore,
		SetRestoreWith, SetShowSettings, SetSkipUnresolved, SetSpecificOffsets, SetStart, SetStartupTimestamp, SetStrategy, SetTimeZone, SetTimeout, SetTolerable, SetWaitEmpty, SetWindow}
}

// SpellHint writes the settings in a hint out. A setting stands in double braces there, with the value to give it where there is
// one to name: "add {{if-expired earliest}} to take the log start". What spell returns for it takes its place; with a nil spell
// that is the setting's own name and value.
func SpellHint(hint string, spell func(s Setting, value string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(hint, "{{")
		named, after, closed := strings.Cut(rest, "}}")
		if !ok || !closed {
			out.WriteString(hint)
			return out.String()
		}
		name, value, _ := strings.Cut(named, " ")
		out.WriteString(before)
		switch {
		case !slices.Contains(Settings(), Setting(name)): // braces of somebody's own
			out.WriteString("{{" + named + "}}")
		case spell == nil:
			out.WriteString(named)
		default:
			out.WriteString(spell(Setting(name), value))
		}
		hint = after
	}
}
