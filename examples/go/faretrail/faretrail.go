// Package faretrail is a small typed client, for a service in Go: copy this file. It needs Temporal's own SDK and nothing
// else, since names and JSON are the whole interface. The types hold the fields that most callers want; docs/schema has all.
package faretrail

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// OrderTrail is docs/schema/order-trail.json.
type OrderTrail struct {
	Account   string          `json:"account"`
	OrderID   string          `json:"orderId"`
	Status    *string         `json:"status"`
	Outcome   *string         `json:"outcome"`
	Terminal  bool            `json:"terminal"`
	Attention *Attention      `json:"attention"`
	Timeline  []TimelineEntry `json:"timeline"`
}

// TimelineEntry is one observation that changed something.
type TimelineEntry struct {
	At        time.Time `json:"at"`
	Status    string    `json:"status"`
	RawStatus string    `json:"rawStatus"`
	Source    string    `json:"source"`
}

// Attention says why a run needs a person.
type Attention struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// RideStanding is docs/schema/ride-standing.json.
type RideStanding struct {
	RequestID string     `json:"requestId"`
	Stage     string     `json:"stage"`
	OrderID   *string    `json:"orderId"`
	Status    *string    `json:"status"`
	Outcome   *string    `json:"outcome"`
	Attention *Attention `json:"attention"`
}

// RideResult is docs/schema/ride-result.json.
type RideResult struct {
	RequestID string          `json:"requestId"`
	OrderID   *string         `json:"orderId"`
	Outcome   *string         `json:"outcome"`
	Trail     *OrderTrail     `json:"trail"`
	Receipt   json.RawMessage `json:"receipt"`
}

// CallResult is docs/schema/business-call-result.json.
type CallResult struct {
	Operation string          `json:"operation"`
	Status    int             `json:"status"`
	Body      json.RawMessage `json:"body"`
}

// Client is what the workers do for another service. A start needs no worker that is alive.
type Client struct {
	Temporal  client.Client
	TaskQueue string
}

// Order is an order that is or was followed.
type Order struct{ run }

// Ride is a ride that is or was requested.
type Ride struct{ run }

type run struct {
	temporal client.Client
	id       string
}

// Fields are further fields of an input, by their names in docs/schema.
type Fields map[string]any

// Follow follows an order, once however often it is called: a later caller adds what it wants (reference, scheduledAt,
// notify). For an order that has ended before, Result gives its end.
func (c Client) Follow(ctx context.Context, account, orderID string, wanted Fields) (Order, error) {
	id := "order/" + account + "/" + orderID
	options := c.start(id, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	input := with(wanted, Fields{"account": account, "orderId": orderID})
	_, err := c.Temporal.SignalWithStartWorkflow(ctx, id, "followRequested", with(wanted, nil), options, "followOrder", input)
	return Order{run{c.Temporal, id}}, unlessEnded(err)
}

// Request requests a ride, once for each requestID, and follows its order (receipt, notify).
func (c Client) Request(ctx context.Context, account, requestID string, order any, wanted Fields) (Ride, error) {
	id := "ride/" + account + "/" + requestID
	options := c.start(id, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
	input := with(wanted, Fields{"account": account, "requestId": requestID, "order": order})
	_, err := c.Temporal.ExecuteWorkflow(ctx, options, "requestRide", input)
	return Ride{run{c.Temporal, id}}, unlessEnded(err)
}

// Call carries out one business operation, durably: the same key never has a second effect (orderId, body).
func (c Client) Call(ctx context.Context, account, operation, key string, wanted Fields) (result CallResult, err error) {
	id := "call/" + account + "/" + operation + "/" + key
	options := c.start(id, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
	input := with(wanted, Fields{"account": account, "operation": operation, "key": key})
	_, err = c.Temporal.ExecuteWorkflow(ctx, options, "businessCall", input)
	if err = unlessEnded(err); err != nil {
		return result, err
	}
	return result, c.Temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
}

// Trail is the trail now. It needs a worker that is alive, so give ctx a deadline.
func (o Order) Trail(ctx context.Context) (trail OrderTrail, err error) {
	return trail, o.query(ctx, "orderTrail", &trail)
}

// Stop ends the following; the order itself goes on.
func (o Order) Stop(ctx context.Context, reason string) (trail OrderTrail, err error) {
	return trail, o.update(ctx, "stopFollowing", &trail, Fields{"reason": reason})
}

// Result waits for the end.
func (o Order) Result(ctx context.Context) (trail OrderTrail, err error) {
	return trail, o.temporal.GetWorkflow(ctx, o.id, "").Get(ctx, &trail)
}

// Status is where the ride stands.
func (r Ride) Status(ctx context.Context) (standing RideStanding, err error) {
	return standing, r.query(ctx, "rideStatus", &standing)
}

// Change changes these fields of the order, where the service allows it.
func (r Ride) Change(ctx context.Context, order Fields) (standing RideStanding, err error) {
	return standing, r.update(ctx, "updateRide", &standing, Fields{"order": order})
}

// Cancel cancels the ride at the service.
func (r Ride) Cancel(ctx context.Context) (standing RideStanding, err error) {
	return standing, r.update(ctx, "cancelRide", &standing)
}

// Result waits for the end.
func (r Ride) Result(ctx context.Context) (result RideResult, err error) {
	return result, r.temporal.GetWorkflow(ctx, r.id, "").Get(ctx, &result)
}

// FailureType is one of the failure types that a caller can switch on, such as OrderNotFound; "" for any other error.
func FailureType(err error) string {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) {
		return failure.Type()
	}
	return ""
}

func (c Client) start(id string, reuse enums.WorkflowIdReusePolicy) client.StartWorkflowOptions {
	queue := c.TaskQueue
	if queue == "" {
		queue = "faretrail"
	}
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                queue,
		WorkflowIDReusePolicy:    reuse,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		// A run that has ended is no error: its result is there all the same.
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
}

// IsOver says whether an update was refused because its run has ended. The result is there all the same.
func IsOver(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

func unlessEnded(err error) error {
	var ended *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &ended) {
		return nil
	}
	return err
}

func with(wanted, more Fields) Fields {
	all := Fields{}
	for _, fields := range []Fields{wanted, more} {
		for name, value := range fields {
			all[name] = value
		}
	}
	return all
}

func (r run) query(ctx context.Context, name string, answer any) error {
	value, err := r.temporal.QueryWorkflow(ctx, r.id, "", name)
	if err != nil {
		return err
	}
	return value.Get(answer)
}

func (r run) update(ctx context.Context, name string, answer any, args ...any) error {
	handle, err := r.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   r.id,
		UpdateName:   name,
		Args:         args,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}
