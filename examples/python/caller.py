"""A service in Python that has an order followed, and waits for its end.

python caller.py <account> <orderId>
"""

import asyncio
import os
import sys
from datetime import timedelta

from temporalio.client import Client, WorkflowFailureError

from faretrail import Faretrail, failure_type


async def main(account: str, order_id: str) -> int:
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    rides = Faretrail(client, os.environ.get("FARETRAIL_TASK_QUEUE", "faretrail"))
    order = await rides.follow(account, order_id, reference="trip-9")
    now = await order.trail(timedelta(seconds=10))
    print(f"{order_id} is {now['status'] or 'not read yet'}", flush=True)
    try:
        end = await order.result()
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
