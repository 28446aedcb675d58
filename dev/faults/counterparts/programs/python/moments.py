"""Sends each update to runs of its own at moments of their lives, with Temporal's SDK alone.

It reads {"updates": [{"name", "args", "type", "ids", "inputs"}], "moments": [milliseconds], "output": "..."} from its input, starts a
run for each moment of each update, and writes [update, moment, outcome] to the file. TEMPORAL_ADDRESS and FARETRAIL_TASK_QUEUE come from
the environment.
"""

import asyncio
import json
import os
import sys
from typing import Any

from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode


async def answer(update: Any) -> str:
    try:
        await asyncio.wait_for(update, 60)
        return "result"
    except WorkflowUpdateFailedError as error:
        cause = error.__cause__
        return f"failure {cause.type}" if isinstance(cause, ApplicationError) else f"failed {cause}"
    except RPCError as error:
        return "not found" if error.status == RPCStatusCode.NOT_FOUND else f"server {error.status.name} {error.message}"
    except asyncio.TimeoutError:
        return "no answer in 60 s"


async def at(client: Client, update: dict[str, Any], number: int, ms: int) -> list[Any]:
    run_id = update["ids"][number]
    queue = os.environ["FARETRAIL_TASK_QUEUE"]
    await client.start_workflow(update["type"], args=[update["inputs"][number]], id=run_id, task_queue=queue)
    await asyncio.sleep(ms / 1000)
    run = client.get_workflow_handle(run_id)
    return [update["name"], ms, await answer(run.execute_update(update["name"], args=update["args"]))]


async def main() -> None:
    asked = json.load(sys.stdin)
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    told: list[list[Any]] = []
    # One update after the other, or the runs would keep a small machine from the moments.
    for update in asked["updates"]:
        told += await asyncio.gather(*(at(client, update, number, ms) for number, ms in enumerate(asked["moments"])))
    with open(asked["output"], "w", encoding="utf-8") as output:  # the SDK logs to the standard output
        json.dump(told, output)


asyncio.run(main())
os._exit(0)  # as in examples/python/caller.py
