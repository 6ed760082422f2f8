// Package registry decodes keys and values by the schemas of a registry with Confluent's API: Avro, Protobuf, JSON Schema.
//
// Confluent's serializers write a zero byte, the schema's id in four bytes, and the value ([Looks]). Any binary value may begin
// like that, so an id is known only where the registry has it ([Value.Known]). What cannot be decoded stays bytes, with the
// reason: an id that the registry does not have, a registry that does not answer, a value that is not of its schema. A value is
// decoded only where every one of its bytes is accounted for.
//
// Schemas are kept, within bounds, each is asked for once, and no request outlives its time. A registry that does not answer is
// left alone for a while, so that it cannot slow a read down for every value.
package registry
