package authorizer

import (
	"context"

	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
)

type forRoles struct {
	others authorization.Authorizer
}

// ForRoles gives meaning to the permissions of a JWT that Temporal's own authorizer does not tell apart: it lets every writer
// take the tasks of workers, and change the routing of versions. Here
//
//   - `read` looks,
//   - `write` also starts runs and decides about them,
//   - `worker`, beside `write`, also takes tasks and answers them,
//   - `admin` may do all.
//
// What a call needs beside that, such as the namespace, others decides.
//
//	temporal.WithAuthorizer(authorizer.ForRoles(authorization.NewDefaultAuthorizer()))
func ForRoles(others authorization.Authorizer) authorization.Authorizer {
	return &forRoles{others}
}

func (a *forRoles) Authorize(
	ctx context.Context, claims *authorization.Claims, target *authorization.CallTarget,
) (authorization.Result, error) {
	if claims != nil && !mayCall(claims.System|claims.Namespaces[target.Namespace], target.APIName) {
		return authorization.Result{Decision: authorization.DecisionDeny, Reason: "not a call of this role"}, nil
	}
	return a.others.Authorize(ctx, claims, target)
}

func mayCall(role authorization.Role, call string) bool {
	if role&authorization.RoleAdmin != 0 || api.GetMethodMetadata(call).Access == api.AccessReadOnly {
		return true
	}
	switch name := api.MethodName(call); {
	case decisions[name]:
		return role&authorization.RoleWriter != 0
	case tasks[name]:
		return role&authorization.RoleWorker != 0
	default: // also what a later server adds
		return false
	}
}

var decisions = setOf(
	"StartWorkflowExecution", "SignalWorkflowExecution", "SignalWithStartWorkflowExecution", "UpdateWorkflowExecution",
	"ExecuteMultiOperation", "RequestCancelWorkflowExecution", "TerminateWorkflowExecution",
	"DispatchNexusTask", "DispatchByNamespaceAndTaskQueue", "DispatchByEndpoint",
)

var tasks = setOf(
	"PollWorkflowTaskQueue", "RespondWorkflowTaskCompleted", "RespondWorkflowTaskFailed", "RespondQueryTaskCompleted",
	"ResetStickyTaskQueue", "PollActivityTaskQueue", "RecordActivityTaskHeartbeat", "RespondActivityTaskCompleted",
	"RespondActivityTaskFailed", "RespondActivityTaskCanceled", "PollNexusTaskQueue", "RespondNexusTaskCompleted",
	"RespondNexusTaskFailed", "RecordWorkerHeartbeat", "ShutdownWorker",
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
