package inspect

// Advice is what a verdict means, what it rests on, and what to do. docs/monitor.md shows the same table.
type Advice struct {
	Health                Health
	Cause, Evidence, Next string
}

// Advices are those of all verdicts, the worst first.
func Advices() []Advice {
	return []Advice{
		{HealthUnknown, "it could not be read", "a broker's error, a partition without a leader, a missing right", "fix the error first; nothing is known until then"},
		{HealthInvalidCommit, "a negative number is stored as the commit", "the stored number", "repair the commit"},
		{HealthPastLogEnd, "the commit is outside the log", "commit and log end, read twice", "find out whether the topic was created again; repair the commit"},
		{HealthBelowLogStart, "retention removed what would be read next", "commit and log start", "the records are lost; repair the commit, lengthen the retention"},
		{HealthStalled, "a member holds the partition and commits nothing, though records wait",
			"the assignment, and a commit that has not moved for the longest of the stall time, two intervals and three times the usual gap between commits",
			"check the reader's log, and the record at the commit"},
		{HealthNeverCommitted, "records are there and no commit, where one should be", "a member holds the partition, or the group commits to other partitions of the topic",
			"check the reader's log, and the first record; a reader that starts at the end of a quiet topic commits with its first record"},
		{HealthAboutToExpire, "retention reaches the commit soon", "retention.ms and the age of the next record, or the speed of the log start",
			"make it read now, or lengthen the retention: what is removed unread is lost"},
		{HealthStopped, "records wait, and no member is there to read them", "the group has no members, or none of them holds the partition", "start the application, or delete the group if it is finished"},
		{HealthNeverLive, "records wait and the commit does not move; whether the reader runs cannot be seen", "the group commits without members (Flink, Spark, assign()), and the commit did not move for the stall time",
			"check the job itself"},
		{HealthTwoCommitters, "two readers commit for one group", "the commit goes back and forth", "give one of them another group name"},
		{HealthRewound, "the commit was moved back", "the commit went back and has not come to where it was", "ask who reset it; otherwise let it read"},
		{HealthFallingBehind, "it commits, and records arrive faster", "the lag right after each commit grows", "more readers, up to the number of partitions; or a faster sink"},
		{HealthBehind, "further behind than the threshold, whatever the trend", "the age of the next record, or the lag", "see whether it catches up; more readers, or a faster sink"},
		{HealthIdleLong, "no reader and nothing to read, for so long that Kafka will drop the offsets", "no members, and no commit seen for the idle time", "koffset keep stores the offsets again, or delete the group"},
		{HealthCatchingUp, "the lag shrinks", "the lag right after each commit", "wait"},
		{HealthIdle, "no reader, and nothing to read", "no members, and the commit is at the end", "nothing"},
		{HealthNoCommit, "nothing is committed", "no commit, no member that holds the partition and none on the topic, or nothing to read", "nothing"},
		{HealthOK, "it keeps pace", "at the end, or a constant distance behind it", "nothing"},
	}
}

// Next is what to do about a verdict on a group of that kind.
func (h Health) Next(d Description) string {
	if t := nextByKind(h, d); t != "" {
		return t
	}
	for _, a := range Advices() {
		if a.Health == h {
			return a.Next
		}
	}
	return ""
}

// nextByKind is the advice where the group's application decides whom to ask.
func nextByKind(h Health, d Description) string {
	switch h {
	case HealthStalled, HealthNeverCommitted, HealthStopped, HealthNeverLive:
	default:
		return ""
	}
	if d.Type == TypeShare && h == HealthNeverCommitted {
		return "check the members' log; a share group that began at the end of a quiet topic has a start with its first record"
	}
	started := h == HealthStopped
	switch d.Application {
	case AppConnectSink:
		if started {
			return "resume or restart the connector " + d.Connector()
		}
		return "check the tasks of the connector " + d.Connector() + ": a failed task keeps its partitions"
	case AppStreams:
		if started {
			return "start the Kafka Streams application"
		}
		return "check the threads and the log of the Kafka Streams application"
	case AppOffsetsOnly:
		return "check the job that commits for it (Flink, Spark, assign()): the group has no members that would show it"
	}
	return ""
}
