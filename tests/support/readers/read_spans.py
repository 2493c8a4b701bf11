"""Read spans by OpenTelemetry's own messages, which know no other fields, and print them as JSON."""

import base64
import json
import sys
from pathlib import Path

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def as_bytes(span):
    """Return a span with ids as protobuf's JSON has them; OTLP's has them in hexadecimal."""
    ids = ("traceId", "spanId", "parentSpanId")
    decoded = {name: base64.b64encode(bytes.fromhex(value)).decode() for name, value in span.items() if name in ids}
    return {**span, **decoded, **({"links": [as_bytes(link) for link in span["links"]]} if "links" in span else {})}


def read(line):
    """Yield the spans of a request."""
    request = json.loads(line)
    for scope in (scope for resource in request["resourceSpans"] for scope in resource["scopeSpans"]):
        scope["spans"] = [as_bytes(span) for span in scope["spans"]]
    for span in ParseDict(request, ExportTraceServiceRequest()).resource_spans[0].scope_spans[0].spans:
        values = {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
        yield {
            "name": span.name,
            "trace": span.trace_id.hex(),
            "span": span.span_id.hex(),
            "parent": span.parent_span_id.hex(),
            "begin": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "links": [link.span_id.hex() for link in span.links],
            "attributes": values,
        }


print(json.dumps([list(read(line)) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]))
