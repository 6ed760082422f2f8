// Command koffset looks at, moves and carries the offsets of Apache Kafka's consumer groups.
package main

import (
	"os"
	_ "time/tzdata" // --tz works where the machine has no zone files: scratch images, Windows

	"github.com/koffset/koffset/cmd"
)

func main() { os.Exit(cmd.Main()) }
