// Package authorizer is for a Temporal server that you build: it leaves the ingress the calls that it makes, and nothing
// else. Every other caller is judged by the authorizer that you have. Written for Temporal server 1.31.
//
//	temporal.WithAuthorizer(authorizer.ForIngress("faretrail-ingress", authorization.NewDefaultAuthorizer()))
package authorizer

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
)

type forIngress struct {
	subject string
	others  authorization.Authorizer
}

// ForIngress narrows what the caller with this subject may do. Its claims must also hold the writer's role in its namespace.
func ForIngress(subject string, others authorization.Authorizer) authorization.Authorizer {
	return &forIngress{subject, others}
}

func (a *forIngress) Authorize(
	ctx context.Context, claims *authorization.Claims, target *authorization.CallTarget,
) (authorization.Result, error) {
	if claims != nil && claims.Subject == a.subject && !isOfIngress(target.Request) {
		return authorization.Result{Decision: authorization.DecisionDeny, Reason: "not a call of an ingress"}, nil
	}
	return a.others.Authorize(ctx, claims, target)
}

func isOfIngress(request any) bool {
	switch call := request.(type) {
	case *workflowservice.GetSystemInfoRequest,
		*workflowservice.DescribeWorkflowExecutionRequest,
		*workflowservice.CountWorkflowExecutionsRequest:
		return true
	case *workflowservice.GetWorkflowExecutionHistoryRequest: // only how a run has ended
		return call.GetHistoryEventFilterType() == enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	case *workflowservice.StartWorkflowExecutionRequest:
		return call.GetWorkflowType().GetName() == "parkedDelivery"
	case *workflowservice.SignalWorkflowExecutionRequest: // changesCounted: signed and refused deliveries, to a subscription
		return call.GetSignalName() == "deliveryReceived" || call.GetSignalName() == "changesCounted"
	case *workflowservice.SignalWithStartWorkflowExecutionRequest:
		workflow := call.GetWorkflowType().GetName()
		return call.GetSignalName() == "deliveryReceived" && (workflow == "followOrder" || workflow == "companyReport")
	default:
		return false
	}
}
