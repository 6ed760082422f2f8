package look

// Where a reader really is: --position-from puts the positions of a checkpoint, or of a koffset consume that runs, beside
// the commits.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// positionColumn is where POSITION goes: behind the commit.
const positionColumn = 4

// checkPosition refuses --position-from where the rows are no partitions of one group: the positions are of one reader.
func (o *inspectOptions) checkPosition() error {
	switch {
	case o.positionFrom == "":
		return nil
	case o.by != byPartition:
		return cli.Usagef("name the group, or add --by partition", "--position-from needs --by partition, not %s", o.by)
	case len(o.names) != 1:
		return cli.Usagef("name the group that commits for it", "--position-from describes one reader, but %s were named", text.Plural(len(o.names), "group"))
	}
	return nil
}

// readPositions reads a checkpoint's folder, or the metrics of a run.
func (p *inspection) readPositions(ctx context.Context) error {
	ref := p.o.positionFrom
	switch {
	case ref == "":
		return nil
	case strings.HasPrefix(ref, "http://"), strings.HasPrefix(ref, "https://"):
		found, err := fetchPositions(ctx, ref)
		if err != nil {
			return cli.Faultf(offset.KindFailed, "koffset consume says its address at the start: --metrics-listen", "--position-from %s: %w", ref, err)
		}
		p.positions = map[offset.Partition]int64{}
		for _, at := range found {
			p.positions[at.Partition] = at.Offset
		}
		return nil
	}
	found, err := p.o.app.PositionsOf(ref, &cli.SnapshotFlags{InFlight: true}) // looking moves nobody
	if err != nil {
		return err
	}
	taken, said, err := found.Take(inspect.Here(p.s.Cluster.ID, p.snap.Topics), nil, p.o.origin.Allow)
	if err != nil {
		return err
	}
	p.o.app.SayOrigin(said)
	p.positions = map[offset.Partition]int64{}
	for at, f := range taken {
		if f.Marker == "" {
			p.positions[at] = f.Offset
		}
	}
	return nil
}

// fetchPositions asks a run for its metrics. An address without a path means /metrics.
func fetchPositions(ctx context.Context, url string) ([]consume.Position, error) {
	_, rest, _ := strings.Cut(url, "://")
	if _, path, ok := strings.Cut(rest, "/"); !ok || path == "" {
		url = strings.TrimSuffix(url, "/") + "/metrics"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	return consume.ReadMetrics(resp.Body)
}

func (p *inspection) withPositionColumn(cols []render.Column) []render.Column {
	if p.positions == nil {
		return cols
	}
	return slices.Insert(cols, positionColumn, render.Column{Header: "POSITION", Key: "position", Right: true})
}

func (p *inspection) withPositionCell(cells []render.Cell, r inspect.Row) []render.Cell {
	if p.positions == nil {
		return cells
	}
	at := render.None()
	if n, ok := p.positions[r.Partition]; ok {
		at = render.Int(n)
	}
	return slices.Insert(cells, positionColumn, at)
}
