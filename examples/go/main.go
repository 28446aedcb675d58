// A service in Go that has an order followed, and waits for its end:
//
//	go run . <account> <orderId>
//
// It needs Temporal's own SDK and nothing else: names and JSON are the whole interface.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// OrderTrail holds the fields this service wants; the others are ignored.
type OrderTrail struct {
	Status   *string `json:"status"`
	Outcome  *string `json:"outcome"`
	Timeline []struct {
		Status string `json:"status"`
	} `json:"timeline"`
}

// follow has the order followed. Any number of callers share one run: a later caller adds
// what it wants. For an order that has ended before it gives the ended run, whose trail is
// the result all the same.
func follow(ctx context.Context, c client.Client, account, orderID string) (client.WorkflowRun, error) {
	id := "order/" + account + "/" + orderID
	input := map[string]any{"account": account, "orderId": orderID, "reference": "trip-9"}
	request := map[string]any{"reference": "trip-9"}
	run, err := c.SignalWithStartWorkflow(ctx, id, "followRequested", request, client.StartWorkflowOptions{
		TaskQueue:                cmp.Or(os.Getenv("FARETRAIL_TASK_QUEUE"), "faretrail"),
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, "followOrder", input)
	var ended *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &ended) {
		return c.GetWorkflow(ctx, id, ""), nil
	}
	return run, err
}

// trailSoFar asks the run. A query needs a worker that is alive, so it has a limit.
func trailSoFar(ctx context.Context, c client.Client, run client.WorkflowRun) (trail OrderTrail, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	value, err := c.QueryWorkflow(ctx, run.GetID(), "", "orderTrail")
	if err != nil {
		return trail, err
	}
	return trail, value.Get(&trail)
}

func run(account, orderID string) error {
	c, err := client.Dial(client.Options{
		HostPort:  cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), client.DefaultHostPort),
		Namespace: cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), client.DefaultNamespace),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx := context.Background()
	order, err := follow(ctx, c, account, orderID)
	if err != nil {
		return err
	}
	trail, err := trailSoFar(ctx, c, order)
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s\n", orderID, textOr(trail.Status, "not read yet"))
	if err := order.Get(ctx, &trail); err != nil {
		return err
	}
	var words []string
	for _, entry := range trail.Timeline {
		words = append(words, entry.Status)
	}
	fmt.Printf("%s ended: %s, after %s\n", orderID, textOr(trail.Outcome, "no outcome"), strings.Join(words, " > "))
	return nil
}

func textOr(text *string, fallback string) string {
	if text == nil {
		return fallback
	}
	return *text
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: go run . <account> <orderId>")
	}
	err := run(os.Args[1], os.Args[2])
	var failure *temporal.ApplicationError
	// The failure types that a caller can switch on are the types of this error.
	if errors.As(err, &failure) && failure.Type() == "OrderNotFound" {
		fmt.Fprintf(os.Stderr, "OrderNotFound: %s\n", failure.Message())
		os.Exit(3)
	}
	if err != nil {
		log.Fatal(err)
	}
}
