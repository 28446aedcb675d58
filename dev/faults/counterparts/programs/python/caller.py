"""Has orders followed, each within a span of its own, by a client that knows nothing of faretrail but its messages.

It reads {"orders": [...], "url": "..."} from its input, writes {"<order>": "<trace id>"} as a line once all are followed, and ends
when they have ended. TEMPORAL_ADDRESS, FARETRAIL_TASK_QUEUE and the OTEL_* variables come from the environment.
"""

import asyncio
import json
import os
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from temporalio.client import Client
from temporalio.contrib.opentelemetry import TracingInterceptor


async def main() -> None:
    asked = json.load(sys.stdin)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("caller")
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], interceptors=[TracingInterceptor()])
    runs, traces = [], {}
    for order in asked["orders"]:
        request = {"notify": [{"url": asked["url"]}]}
        with tracer.start_as_current_span("checkout") as span:
            run = await client.start_workflow(
                "followOrder",
                {"account": "business", "orderId": order, **request},
                id=f"order/business/{order}",
                task_queue=os.environ["FARETRAIL_TASK_QUEUE"],
                start_signal="followRequested",
                start_signal_args=[request],
            )
            traces[order] = format(span.get_span_context().trace_id, "032x")
            runs.append(run)
    print(json.dumps(traces), flush=True)
    for run in runs:
        await run.result()
    provider.shutdown()


asyncio.run(main())
