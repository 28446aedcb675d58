"""A service in Python that makes a business call, requests a ride, cancels it, and prints what became of them as JSON.

python rider.py <account> <requestId> order.json
"""

import asyncio
import json
import os
import sys

from temporalio.client import Client

from faretrail import Faretrail


async def main(account: str, request_id: str, file: str) -> None:
    with open(file, encoding="utf-8") as opened:
        order = json.load(opened)
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    rides = Faretrail(client, os.environ.get("FARETRAIL_TASK_QUEUE", "faretrail"))
    settings = await rides.call(account, "companySettings", request_id)
    ride = await rides.request(account, request_id, order)
    standing = await ride.cancel()
    end = await ride.result()
    told = {"call": settings["status"], "stage": standing["stage"], "outcome": end["outcome"]}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
    os._exit(0)  # as in caller.py
