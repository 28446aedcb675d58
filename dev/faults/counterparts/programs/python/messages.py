"""Sends values that Python can write, and hardly anybody expects, to every run and as the input of every type of run.

It reads {"types": [...], "ids": [...], "output": "..."} from its input, and writes the outcomes to the file. TEMPORAL_ADDRESS
and FARETRAIL_TASK_QUEUE come from the environment.
"""

import asyncio
import dataclasses
import datetime
import enum
import json
import os
import sys
import uuid
from typing import Any

from google.protobuf.wrappers_pb2 import StringValue
from temporalio.client import Client, WorkflowFailureError, WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError


@dataclasses.dataclass
class Delivery:
    delivery_id: str
    received_at: float


class Word(enum.IntEnum):
    DRIVING = 1


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def nested_fields(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"deliveries": value}
    return value


FORMS: dict[str, list[Any]] = {
    "no argument": [],
    "None": [None],
    "two Nones": [None, None],
    "NaN": [float("nan")],
    "NaN in a field": [{"deliveries": float("nan"), "orderId": float("inf"), "account": float("-inf")}],
    "a huge integer": [{"orderId": 10**400, "account": 2**64, "graceMs": 10**400, "deliveries": [10**400]}],
    "a huge exponent": [{"graceMs": 1e308, "order": {"x": -1e308}}],
    "a lone surrogate": [{"orderId": "\ud800", "account": "\udfff", "reason": "\ud800", "deliveries": [{"deliveryId": "\udc00"}]}],
    "a surrogate as a name": [{"\ud800": 1}],
    "nested lists": [nested(900)],
    "nested objects": [nested_fields(450)],
    "bytes": [b"\x00\xff\xfe"],
    "protobuf": [StringValue(value="x")],
    "a dataclass": [Delivery("x", 1.5)],
    "an enum": [Word.DRIVING],
    "a truth": [True],
    "an empty text": [""],
    "a list": [[{"deliveryId": "x"}]],
    "a long text": [{"reason": "x" * 1_500_000}],
    "names of prototypes": [{"__proto__": {"x": 1}, "constructor": {"prototype": {}}, "toString": "x"}],
    "many arguments": [{}] * 50,
    "many fields": [{f"field{n}": n for n in range(20_000)}],
    "a zero byte": [{"orderId": "a\u0000b", "account": "busi\u0000ness", "reason": "\u0000"}],
    "dates": [{"receivedAt": str(datetime.datetime.max), "scheduledAt": "9999-99-99T99:99:99Z"}],
}


# Right for an update without an input: it would end the ride.
CANCELS = {"no argument", "None", "two Nones", "many arguments"}


def refusal(error: BaseException) -> str:
    cause = error.__cause__
    if isinstance(cause, ApplicationError):
        return f"{cause.type} {cause.message}"
    return f"{type(error).__name__} {cause or error}"


async def outcome(act: Any) -> str:
    try:
        await asyncio.wait_for(act, 60)
        return "taken"
    except (WorkflowFailureError, WorkflowUpdateFailedError) as error:
        return refusal(error)
    except WorkflowQueryFailedError as error:
        return f"query refused {error}"
    except RPCError as error:
        return f"server {error.status.name} {error.message}"
    except asyncio.TimeoutError:
        return "no answer in 60 s"


async def messages_of(client: Client, run_id: str) -> dict[str, list[str]]:
    said = await client.get_workflow_handle(run_id).query("__temporal_workflow_metadata", result_type=dict)
    definition = said["definition"]
    kinds = ("signal", "update", "query")
    return {
        kind: [one["name"] for one in definition.get(f"{kind}Definitions", []) if not one.get("name", "__").startswith("__")]
        for kind in kinds
    }


async def send_all(client: Client, run_id: str, told: list[list[str]]) -> None:
    run = client.get_workflow_handle(run_id)
    known = await messages_of(client, run_id)
    for form, args in FORMS.items():
        for kind, names in known.items():
            for name in names + ["noSuchMessage"]:
                if name == "cancelRide" and form in CANCELS:
                    continue
                act = {
                    "signal": lambda: run.signal(name, args=args),
                    "update": lambda: run.execute_update(name, args=args),
                    "query": lambda: run.query(name, args=args),
                }[kind]
                told.append([run_id.split("/")[0], kind, name, form, await outcome(act())])


async def start_all(client: Client, types: list[str], told: list[list[str]]) -> None:
    queue = os.environ["FARETRAIL_TASK_QUEUE"]

    async def start(kind: str, form: str, args: list[Any]) -> None:
        run = client.execute_workflow(kind, args=args, id=f"hostile-{uuid.uuid4()}", task_queue=queue)
        told.append([kind, "start", kind, form, await outcome(run)])

    for form, args in FORMS.items():
        await asyncio.gather(*(start(kind, form, args) for kind in types))


async def main() -> None:
    asked = json.load(sys.stdin)
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    told: list[list[str]] = []
    await start_all(client, asked["types"], told)
    await asyncio.gather(*(send_all(client, run_id, told) for run_id in asked["ids"]))
    with open(asked["output"], "w", encoding="utf-8") as output:  # the SDK logs to the standard output
        json.dump(told, output)


asyncio.run(main())
os._exit(0)  # as in examples/python/caller.py
