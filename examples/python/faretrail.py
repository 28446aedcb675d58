"""A small typed client of faretrail, for a service in Python: copy this file.

It needs Temporal's own SDK and nothing else, since names and JSON are the whole interface. Results are dictionaries as the
JSON Schemas in docs/schema say; the types here name the fields that most callers want.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict, cast

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

Json = dict[str, Any]


class TimelineEntry(TypedDict):
    at: str
    status: str
    rawStatus: str
    source: str


class Attention(TypedDict):
    code: str
    message: str
    since: str


class OrderTrail(TypedDict):
    """docs/schema/order-trail.json"""

    account: str
    orderId: str
    status: str | None
    outcome: str | None
    terminal: bool
    attention: Attention | None
    timeline: list[TimelineEntry]


class RideStanding(TypedDict):
    """docs/schema/ride-standing.json"""

    account: str
    requestId: str
    stage: str
    orderId: str | None
    status: str | None
    outcome: str | None
    attention: Attention | None


class RideResult(TypedDict):
    """docs/schema/ride-result.json"""

    account: str
    requestId: str
    orderId: str | None
    outcome: str | None
    trail: OrderTrail | None
    receipt: Json | None


class CallResult(TypedDict):
    """docs/schema/business-call-result.json"""

    operation: str
    status: int
    body: Any


WITHIN = timedelta(seconds=30)


@dataclass(frozen=True)
class Order:
    """An order that is or was followed."""

    run: WorkflowHandle[Any, Json]

    async def trail(self, within: timedelta = WITHIN) -> OrderTrail:
        """The trail now. Needs a worker that is alive."""
        return cast(OrderTrail, await self.run.query("orderTrail", result_type=dict, rpc_timeout=within))

    async def refresh(self, within: timedelta = WITHIN) -> OrderTrail:
        """Reads the order now."""
        return cast(OrderTrail, await self.run.execute_update("refreshOrder", result_type=dict, rpc_timeout=within))

    async def stop(self, reason: str, within: timedelta = WITHIN) -> OrderTrail:
        """Ends the following; the order itself goes on."""
        stopped = self.run.execute_update("stopFollowing", {"reason": reason}, result_type=dict, rpc_timeout=within)
        return cast(OrderTrail, await stopped)

    async def result(self) -> OrderTrail:
        """Waits for the end."""
        return cast(OrderTrail, await self.run.result())


@dataclass(frozen=True)
class Ride:
    """A ride that is or was requested."""

    run: WorkflowHandle[Any, Json]

    async def status(self, within: timedelta = WITHIN) -> RideStanding:
        return cast(RideStanding, await self.run.query("rideStatus", result_type=dict, rpc_timeout=within))

    async def change(self, order: Json, within: timedelta = timedelta(minutes=2)) -> RideStanding:
        """Changes these fields of the order, where the service allows it."""
        changed = self.run.execute_update("updateRide", {"order": order}, result_type=dict, rpc_timeout=within)
        return cast(RideStanding, await changed)

    async def cancel(self, within: timedelta = timedelta(minutes=2)) -> RideStanding:
        return cast(RideStanding, await self.run.execute_update("cancelRide", result_type=dict, rpc_timeout=within))

    async def result(self) -> RideResult:
        """Waits for the end."""
        return cast(RideResult, await self.run.result())


@dataclass(frozen=True)
class Faretrail:
    """What the workers do for another service. A start needs no worker that is alive."""

    client: Client
    task_queue: str = "faretrail"

    async def follow(self, account: str, order_id: str, **wanted: Any) -> Order:
        """Follows an order, once however often it is called: a later caller adds what it wants (`reference`,
        `scheduledAt`, `notify`). For an order that has ended before, the result gives its end."""
        workflow_id = f"order/{account}/{order_id}"
        await self._start(
            "followOrder",
            workflow_id,
            {"account": account, "orderId": order_id, **wanted},
            reuse=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
            start_signal="followRequested",
            start_signal_args=[wanted],
        )
        return Order(self._run(workflow_id))

    async def request(self, account: str, request_id: str, order: Json, **wanted: Any) -> Ride:
        """Requests a ride, once for each `request_id`, and follows its order (`receipt`, `notify`)."""
        workflow_id = f"ride/{account}/{request_id}"
        await self._start(
            "requestRide", workflow_id, {"account": account, "requestId": request_id, "order": order, **wanted}
        )
        return Ride(self._run(workflow_id))

    async def call(self, account: str, operation: str, key: str, **wanted: Any) -> CallResult:
        """One business operation, durably: the same `key` never has a second effect (`orderId`, `body`)."""
        workflow_id = f"call/{account}/{operation}/{key}"
        await self._start(
            "businessCall", workflow_id, {"account": account, "operation": operation, "key": key, **wanted}
        )
        return cast(CallResult, await self._run(workflow_id).result())

    async def _start(
        self,
        workflow: str,
        workflow_id: str,
        given: Json,
        reuse: WorkflowIDReusePolicy = WorkflowIDReusePolicy.REJECT_DUPLICATE,
        **more: Any,
    ) -> None:
        try:
            await self.client.start_workflow(
                workflow,
                given,
                id=workflow_id,
                task_queue=self.task_queue,
                id_reuse_policy=reuse,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                **more,
            )
        except WorkflowAlreadyStartedError:
            pass  # it has ended before; its result is there all the same

    def _run(self, workflow_id: str) -> WorkflowHandle[Any, Json]:
        return self.client.get_workflow_handle(workflow_id, result_type=dict)


def is_over(error: Exception) -> bool:
    """Whether an update or a signal was refused because its run has ended. The result is there all the same."""
    return isinstance(error, RPCError) and error.status == RPCStatusCode.NOT_FOUND


def failure_type(error: WorkflowFailureError | WorkflowUpdateFailedError) -> str | None:
    """One of the failure types that a caller can switch on, such as `OrderNotFound`."""
    return error.cause.type if isinstance(error.cause, ApplicationError) else None
