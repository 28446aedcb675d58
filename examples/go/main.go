// A service in Go that has an order followed, and waits for its end; or that requests a ride and cancels it:
//
//	go run . <account> <orderId>
//	go run . <account> <requestId> order.json
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"example.com/ride-caller/faretrail"

	"go.temporal.io/sdk/client"
)

func followToItsEnd(ctx context.Context, rides faretrail.Client, account, orderID string) error {
	order, err := rides.Follow(ctx, account, orderID, faretrail.Fields{"reference": "trip-9"})
	if err != nil {
		return err
	}
	inTime, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	trail, err := order.Trail(inTime)
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s\n", orderID, textOr(trail.Status, "not read yet"))
	if trail, err = order.Result(ctx); err != nil {
		return err
	}
	var words []string
	for _, entry := range trail.Timeline {
		words = append(words, entry.Status)
	}
	fmt.Printf("%s ended: %s, after %s\n", orderID, textOr(trail.Outcome, "no outcome"), strings.Join(words, " > "))
	return nil
}

func requestAndCancel(ctx context.Context, rides faretrail.Client, account, requestID, file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	settings, err := rides.Call(ctx, account, "companySettings", requestID, nil)
	if err != nil {
		return err
	}
	ride, err := rides.Request(ctx, account, requestID, json.RawMessage(body), nil)
	if err != nil {
		return err
	}
	standing, err := ride.Cancel(ctx)
	isOver := faretrail.IsOver(err) // the request id was used before, and its ride has ended
	if err != nil && !isOver {
		return err
	}
	end, err := ride.Result(ctx)
	if err != nil {
		return err
	}
	if isOver {
		fmt.Printf("already ended: %s\n", textOr(end.Outcome, "no outcome"))
		return nil
	}
	told := map[string]any{"call": settings.Status, "stage": standing.Stage, "outcome": end.Outcome}
	return json.NewEncoder(os.Stdout).Encode(told)
}

func textOr(text *string, fallback string) string {
	if text == nil {
		return fallback
	}
	return *text
}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		log.Fatal("usage: go run . <account> <orderId>, or <account> <requestId> <file with an order>")
	}
	temporal, err := client.Dial(client.Options{
		HostPort:  cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), client.DefaultHostPort),
		Namespace: cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), client.DefaultNamespace),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	rides := faretrail.Client{Temporal: temporal, TaskQueue: os.Getenv("FARETRAIL_TASK_QUEUE")}
	if len(os.Args) == 4 {
		err = requestAndCancel(context.Background(), rides, os.Args[1], os.Args[2], os.Args[3])
	} else {
		err = followToItsEnd(context.Background(), rides, os.Args[1], os.Args[2])
	}
	if faretrail.FailureType(err) == "OrderNotFound" {
		fmt.Fprintf(os.Stderr, "OrderNotFound: %s\n", err)
		os.Exit(3)
	}
	if err != nil {
		log.Fatal(err)
	}
}
