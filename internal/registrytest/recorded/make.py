"""Makes values.json and answers.json: what a real registry answers, and values that other encoders than ours wrote.

The registry is Apicurio 3.0.9 (Maven Central, io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all) with its Confluent-compatible API;
the encoders are fastavro and protoc with Google's Python runtime (grpcio-tools). Run it against an empty registry:

    python3 make.py http://127.0.0.1:8080/apis/ccompat/v7
"""
import base64, datetime, decimal, importlib, io, json, os, subprocess, sys, tempfile, urllib.error, urllib.parse, urllib.request, uuid
import fastavro

BASE = sys.argv[1]
answers, values = {}, []


def call(path, body=None):
    req = urllib.request.Request(BASE + path, None if body is None else json.dumps(body).encode(),
                                 {"Content-Type": "application/vnd.schemaregistry.v1+json"})
    try:
        with urllib.request.urlopen(req) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def keep(path):
    status, body = call(path)
    answers[path] = {"status": status, "body": body}


def register(subject, schema, kind=None, references=()):
    body = {"schema": schema, "references": list(references)}
    if kind:
        body["schemaType"] = kind
    status, text = call("/subjects/%s/versions" % subject, body)
    assert status == 200, (subject, status, text)
    sid = json.loads(text)["id"]
    keep("/schemas/ids/%d" % sid)
    keep("/subjects/%s/versions/1" % subject)
    return sid


def value(name, sid, payload, want):
    framed = b"\0" + sid.to_bytes(4, "big") + payload
    values.append({"name": name, "id": sid, "base64": base64.b64encode(framed).decode(), "json": want})


def avro(schema, datum, named=None):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, named_schemas=named if named is not None else {}), datum)
    return out.getvalue()


# Avro: a reference, unions, logical types, a type that contains itself.
customer = {"type": "record", "name": "Customer", "namespace": "com.shop", "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}
order = {"type": "record", "name": "Order", "namespace": "com.shop", "fields": [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": ["null", "com.shop.Customer"]},
    {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    {"name": "refund", "type": {"type": "fixed", "name": "Money", "size": 6, "logicalType": "decimal", "precision": 12, "scale": 3}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "trace", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 3}},
    {"name": "raw", "type": "bytes"},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}}},
    {"name": "first", "type": ["null", "Item"]},
    {"name": "note", "type": ["null", "string", "long"]},
    {"name": "ratio", "type": "double"}, {"name": "small", "type": "float"}, {"name": "paid", "type": "boolean"},
    {"name": "chain", "type": {"type": "record", "name": "Link", "fields": [{"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Link"]}]}}]}
cid = register("customer", json.dumps(customer))
oid = register("orders-value", json.dumps(order), None, [{"name": "com.shop.Customer", "subject": "customer", "version": 1}])
kid = register("orders-key", json.dumps("string"))
utc = datetime.timezone.utc
when = datetime.datetime(2026, 11, 29, 8, 59, 15, 123000, utc)
datum = {"id": 9007199254740993, "customer": {"id": 17, "name": "J\u00f6rg \"x\"\n"}, "total": decimal.Decimal("-126.69"), "refund": decimal.Decimal("0.005"), "at": when,
         "micros": when.replace(microsecond=123456), "local": when.replace(tzinfo=None), "day": datetime.date(2026, 11, 29), "clock": datetime.time(23, 59, 59, 7000),
         "trace": uuid.UUID("0b1f2b9e-3d7e-4a9f-8a57-5f0c2d9b1c11"), "state": "PAID", "hash": b"\x00\xff\x80", "raw": b"\xff\x00", "tags": {"a": "1"}, "items": [{"sku": "s-1", "n": 2}, {"sku": "s-2", "n": -1}],
         "first": {"sku": "s-1", "n": 2}, "note": 5, "ratio": 0.1, "small": float("nan"), "paid": True, "chain": {"n": 1, "next": {"n": 2, "next": None}}}
named = {}
fastavro.parse_schema(customer, named_schemas=named)
value("avro", oid, avro(order, datum, named),
      '{"id":9007199254740993,"customer":{"id":17,"name":"J\u00f6rg \\"x\\"\\n"},"total":-126.69,"refund":0.005,"at":"2026-11-29T08:59:15.123Z","micros":"2026-11-29T08:59:15.123456Z",'
      '"local":"2026-11-29T08:59:15.123","day":"2026-11-29","clock":"23:59:59.007","trace":"0b1f2b9e-3d7e-4a9f-8a57-5f0c2d9b1c11","state":"PAID","hash":"AP+A","raw":"/wA=","tags":{"a":"1"},'
      '"items":[{"sku":"s-1","n":2},{"sku":"s-2","n":-1}],"first":{"sku":"s-1","n":2},"note":5,"ratio":0.1,"small":"NaN","paid":true,"chain":{"n":1,"next":{"n":2,"next":null}}}')
value("avro reference", cid, avro(customer, {"id": -1, "name": ""}), '{"id":-1,"name":""}')
value("avro string", kid, avro("string", "o-1"), '"o-1"')

# Protobuf: an import, Google's well-known types, nested and recursive messages, the second message of a file.
protos = {"shop/customer.proto": 'syntax = "proto3";\npackage shop;\nmessage Customer { int64 id = 1; string name = 2; }\n',
          "order.proto": '''syntax = "proto3";
package shop;
import "shop/customer.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
enum State { NEW = 0; PAID = 1; }
message Order {
  int64 order_id = 1;
  Customer customer = 2;
  google.protobuf.Timestamp at = 3;
  google.protobuf.Duration took = 4;
  google.protobuf.Int64Value big = 5;
  google.protobuf.Struct extra = 6;
  google.protobuf.Any any = 7;
  State state = 8;
  repeated Item items = 9;
  map<string, int32> counts = 10;
  oneof pay { string card = 11; bytes cash = 12; }
  bool shipped = 13;
  optional string note = 14;
  double ratio = 15;
  Order parent = 16;
  message Item { string sku = 1; uint32 n = 2; }
}
message Cancelled { string why = 1; message By { sint32 user = 1; } }
'''}
pid = register("shop-customer", protos["shop/customer.proto"], "PROTOBUF")
qid = register("proto-orders-value", protos["order.proto"], "PROTOBUF", [{"name": "shop/customer.proto", "subject": "shop-customer", "version": 1}])
with tempfile.TemporaryDirectory() as d:
    for name, text in protos.items():
        os.makedirs(os.path.dirname(os.path.join(d, name)) or d, exist_ok=True)
        open(os.path.join(d, name), "w").write(text)
    subprocess.check_call([sys.executable, "-m", "grpc_tools.protoc", "-I", d, "--python_out", d, *protos])
    sys.path.insert(0, d)
    pb, cpb = importlib.import_module("order_pb2"), importlib.import_module("shop.customer_pb2")
o = pb.Order(order_id=9007199254740993, customer=cpb.Customer(id=17, name="J\u00f6rg"), state=1, items=[pb.Order.Item(sku="s-1", n=2)], counts={"b": 2, "a": 1}, cash=b"\xff\x00", ratio=0.5, note="")
o.at.FromDatetime(when); o.took.FromMilliseconds(1500); o.big.value = 7; o.extra.update({"k": [1, None, "x"]}); o.any.Pack(cpb.Customer(id=1))
o.parent.order_id = 1
value("protobuf", qid, b"\0" + o.SerializeToString(deterministic=True),
      '{"order_id":9007199254740993,"customer":{"id":17,"name":"J\u00f6rg"},"at":"2026-11-29T08:59:15.123Z","took":"1.500s","big":7,"extra":{"k":[1,null,"x"]},'
      '"any":{"@type":"type.googleapis.com/shop.Customer","id":1,"name":""},"state":"PAID","items":[{"sku":"s-1","n":2}],"counts":{"a":1,"b":2},"cash":"/wA=","shipped":false,"note":"","ratio":0.5,'
      '"parent":{"order_id":1,"state":"NEW","items":[],"counts":{},"shipped":false,"ratio":0}}')
value("protobuf second message", qid, b"\x02\x02" + pb.Cancelled(why="x").SerializeToString(), '{"why":"x"}')
value("protobuf nested message", qid, b"\x04\x02\x00" + pb.Cancelled.By(user=-3).SerializeToString(), '{"user":-3}')
value("protobuf unknown field", pid, b"\0" + pb.Order(order_id=1, state=1).SerializeToString(), '{"id":1,"name":"","@unknown_base64":"QAE="}')

# JSON Schema.
jid = register("json-orders-value", json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"id": {"type": "integer"}}}), "JSON")
value("json", jid, b'{ "id" : 9007199254740993,\n "x": "\xc3\xb6" }', '{"id":9007199254740993,"x":"\u00f6"}')

keep("/schemas/ids/999")
here = os.path.dirname(os.path.abspath(__file__))
for name, what in (("answers.json", answers), ("values.json", values)):
    with open(os.path.join(here, name), "w") as f:
        json.dump(what, f, indent=1, ensure_ascii=False)
        f.write("\n")
