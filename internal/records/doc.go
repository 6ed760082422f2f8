// Package records reads records at chosen places of a cluster's logs: the first record at or after an offset for thousands
// of partitions ([Reader.First]), and the records of stretches of logs in their order ([Reader.Walk]).
//
// It sends Fetch requests to the leaders, joins no group, commits nothing and needs READ on the topics. What it answers is
// one of three: records, the [Proof] that a stretch holds none (more), or an error that says why it is not known. The
// three are kept apart because a broker's empty answer is not a fact about the log. A broker leaves a partition empty when
// the response is full, when the next batch is larger than what was asked for, when the batch is in remote storage that
// did not answer in time, or when the client is throttled. Only an answer to a request for that one partition proves that
// nothing is there, since Kafka gives the first partition of a request at least one whole batch, however small the limits
// (KIP-74).
//
// Memory is bounded by [Reader.Memory] whatever the compression ratio and however many partitions: requests are sized by
// it, and batches are decompressed one at a time, handed out, and dropped.
package records
