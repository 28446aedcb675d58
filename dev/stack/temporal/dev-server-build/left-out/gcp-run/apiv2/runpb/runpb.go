package runpb

import "google.golang.org/protobuf/types/known/fieldmaskpb"

type (
	GetWorkerPoolRequest struct{ Name string }
	WorkerPoolScaling    struct{ ManualInstanceCount *int32 }
	WorkerPool           struct {
		Name    string
		Scaling *WorkerPoolScaling
	}
	UpdateWorkerPoolRequest struct {
		WorkerPool *WorkerPool
		UpdateMask *fieldmaskpb.FieldMask
	}
)
