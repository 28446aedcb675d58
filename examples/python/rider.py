"""A service in Python that makes a business call, requests a ride, cancels it, and prints what became of them as JSON.

python rider.py <account> <requestId> order.json
"""

import asyncio
import json
import os
import sys

from temporalio.client import Client, WorkflowFailureError

from faretrail import Faretrail, failure_type, is_over


async def main(account: str, request_id: str, file: str) -> int:
    with open(file, encoding="utf-8") as opened:
        order = json.load(opened)
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    rides = Faretrail(client, os.environ.get("FARETRAIL_TASK_QUEUE", "faretrail"))
    settings = await rides.call(account, "companySettings", request_id)
    ride = await rides.request(account, request_id, order)
    try:
        standing = await ride.cancel()
    except Exception as error:
        if not is_over(error):
            raise
        standing = None  # the request id was used before, and its ride has ended
    try:
        end = await ride.result()
    except WorkflowFailureError as error:
        print(f"{failure_type(error)}: {error.cause.message}", file=sys.stderr)
        return 1
    if standing is None:
        print(f"already ended: {end['outcome']}", flush=True)
        return 0
    told = {"call": settings["status"], "stage": standing["stage"], "outcome": end["outcome"]}
    print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    code = asyncio.run(main(*sys.argv[1:]))
    sys.stderr.flush()
    os._exit(code)  # as in caller.py
