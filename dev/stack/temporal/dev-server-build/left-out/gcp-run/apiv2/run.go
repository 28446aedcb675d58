package run

import (
	"context"
	"errors"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/option"
)

var errLeftOut = errors.New("Google Cloud Run is left out of this development server")

type (
	WorkerPoolsClient         struct{}
	UpdateWorkerPoolOperation struct{}
)

func NewWorkerPoolsClient(context.Context, ...option.ClientOption) (*WorkerPoolsClient, error) {
	return nil, errLeftOut
}

func (*WorkerPoolsClient) Close() error { return nil }

func (*WorkerPoolsClient) GetWorkerPool(context.Context, *runpb.GetWorkerPoolRequest) (*runpb.WorkerPool, error) {
	return nil, errLeftOut
}

func (*WorkerPoolsClient) UpdateWorkerPool(context.Context, *runpb.UpdateWorkerPoolRequest) (*UpdateWorkerPoolOperation, error) {
	return nil, errLeftOut
}

func (*UpdateWorkerPoolOperation) Wait(context.Context) (*runpb.WorkerPool, error) {
	return nil, errLeftOut
}
