package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

const callLimit = 10 * time.Second

func describeNamespace(ctx context.Context, words []string) error {
	flags := newFlags("operator namespace describe")
	name := flags.String("namespace", "default", "")
	if err := parse(flags, words); err != nil {
		return err
	}
	return call(ctx, func(ctx context.Context, service workflowservice.WorkflowServiceClient) error {
		reply, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: *name})
		if err == nil {
			fmt.Println(reply.GetNamespaceInfo().GetName(), reply.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
		}
		return err
	})
}

func createNamespace(ctx context.Context, words []string) error {
	flags := newFlags("operator namespace create")
	name := flags.String("namespace", "", "")
	retention := 72 * time.Hour // as the Temporal CLI has it
	flags.Func("retention", "", func(text string) (err error) {
		retention, err = parseDuration(text)
		return err
	})
	if err := parse(flags, words); err != nil {
		return err
	}
	return call(ctx, func(ctx context.Context, service workflowservice.WorkflowServiceClient) error {
		_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace:                        *name,
			WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		return err
	})
}

// call asks the server at TEMPORAL_ADDRESS.
func call(ctx context.Context, ask func(context.Context, workflowservice.WorkflowServiceClient) error) error {
	address := os.Getenv("TEMPORAL_ADDRESS")
	if address == "" {
		address = "127.0.0.1:7233"
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return ask(limited, workflowservice.NewWorkflowServiceClient(connection))
}

// parseDuration knows days, too.
func parseDuration(text string) (time.Duration, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		count, err := strconv.Atoi(days)
		return time.Duration(count) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
