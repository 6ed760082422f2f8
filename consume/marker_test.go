package consume

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decodedMarker decodes a batch with one transaction marker.
func decodedMarker() []*kgo.Record {
	key, value := []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 0}
	rec := kmsg.Record{Key: key, Value: value}
	body := rec.AppendTo(nil)
	rec.Length = int32(len(body) - 1)
	body = rec.AppendTo(nil)
	b := kmsg.RecordBatch{Magic: 2, Attributes: 0x30, NumRecords: 1, ProducerID: 1, Records: body, Length: int32(49 + len(body))}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{KeepControlRecords: true}, &kmsg.FetchResponseTopicPartition{RecordBatches: raw}, kgo.DefaultDecompressor(), nil)
	return fp.Records
}
