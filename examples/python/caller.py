"""A service in Python that has an order followed, and waits for its end.

python caller.py <account> <orderId>

It needs Temporal's own SDK and nothing else: names and JSON are the whole interface.
"""

import asyncio
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

TASK_QUEUE = os.environ.get("FARETRAIL_TASK_QUEUE", "faretrail")

Trail = dict[str, Any]


async def follow(client: Client, account: str, order_id: str) -> WorkflowHandle[Any, Trail]:
    """Has the order followed. Any number of callers share one run: a later caller adds what it wants."""
    workflow_id = f"order/{account}/{order_id}"
    request = {"reference": "trip-9"}
    try:
        await client.start_workflow(
            "followOrder",
            {"account": account, "orderId": order_id, **request},
            id=workflow_id,
            task_queue=TASK_QUEUE,
            start_signal="followRequested",
            start_signal_args=[request],
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
    except WorkflowAlreadyStartedError:
        pass  # it has ended before; its trail is the result all the same
    return client.get_workflow_handle(workflow_id, result_type=dict)


async def trail_so_far(run: WorkflowHandle[Any, Trail]) -> Trail:
    """A query needs a worker that is alive, so it has a limit."""
    return await run.query("orderTrail", result_type=dict, rpc_timeout=timedelta(seconds=10))


def failure_type(error: WorkflowFailureError) -> str | None:
    """One of the failure types that a caller can switch on."""
    return error.cause.type if isinstance(error.cause, ApplicationError) else None


async def main(account: str, order_id: str) -> int:
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    run = await follow(client, account, order_id)
    now = await trail_so_far(run)
    print(f"{order_id} is {now['status'] or 'not read yet'}", flush=True)
    try:
        end = await run.result()
    except WorkflowFailureError as error:
        if failure_type(error) != "OrderNotFound":
            raise
        print(f"OrderNotFound: {error.cause.message}", file=sys.stderr)
        return 3
    words = " > ".join(entry["status"] for entry in end["timeline"])
    print(f"{order_id} ended: {end['outcome']}, after {words}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    code = asyncio.run(main(*sys.argv[1:]))
    sys.stdout.flush()
    # Without Python's own end, during which a thread of the SDK that is still busy with the last call can crash a short
    # program (temporalio/sdk-python, issue 300; about one run in five). A service that keeps running has no need of it.
    os._exit(code)
