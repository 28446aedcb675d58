package authorizer

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
)

const namespace = "rides"

var chain = ForIngress("faretrail-ingress", ForRoles(authorization.NewDefaultAuthorizer()))

func allows(t *testing.T, subject string, role authorization.Role, in, call string, request any) bool {
	t.Helper()
	claims := &authorization.Claims{Subject: subject, Namespaces: map[string]authorization.Role{namespace: role}}
	target := &authorization.CallTarget{APIName: api.WorkflowServicePrefix + call, Namespace: in, Request: request}
	result, err := chain.Authorize(context.Background(), claims, target)
	if err != nil {
		t.Fatal(err)
	}
	return result.Decision == authorization.DecisionAllow
}

// ofNamespace are the calls of the server about one namespace.
func ofNamespace() (calls []string) {
	for _, method := range workflowservice.WorkflowService_ServiceDesc.Methods {
		if api.GetMethodMetadata(api.WorkflowServicePrefix+method.MethodName).Scope == api.ScopeNamespace {
			calls = append(calls, method.MethodName)
		}
	}
	return calls
}

func isOneOf(call string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(call, part) })
}

const (
	reads   = authorization.RoleReader
	decides = authorization.RoleReader | authorization.RoleWriter
	works   = decides | authorization.RoleWorker
)

func TestReaderOnlyReads(t *testing.T) {
	for _, call := range ofNamespace() {
		isRead := api.GetMethodMetadata(api.WorkflowServicePrefix+call).Access == api.AccessReadOnly
		if allows(t, "anna", reads, namespace, call, nil) != isRead {
			t.Errorf("reader: %s", call)
		}
	}
	for _, call := range []string{"QueryWorkflow", "GetWorkflowExecutionHistory", "ListWorkflowExecutions"} {
		if !allows(t, "anna", reads, namespace, call, nil) || allows(t, "anna", works, "another", call, nil) {
			t.Errorf("%s", call)
		}
	}
}

func TestOnlyWorkersTakeTasks(t *testing.T) {
	for _, call := range ofNamespace() {
		isTask := isOneOf(call, "TaskQueue", "Task", "Worker") && isOneOf(call, "Poll", "Respond", "Heartbeat", "Shutdown", "Sticky")
		if isTask && isOneOf(call, "ById") {
			isTask = false // for programs that answer without a worker
		}
		mayMore := allows(t, "w", works, namespace, call, nil) && !allows(t, "w", decides, namespace, call, nil)
		if mayMore != isTask {
			t.Errorf("worker: %s", call)
		}
	}
}

func TestOperatorsDecideAndDoNoMore(t *testing.T) {
	var more []string
	for _, call := range ofNamespace() {
		if allows(t, "anna", decides, namespace, call, nil) && !allows(t, "anna", reads, namespace, call, nil) {
			more = append(more, call)
		}
	}
	slices.Sort(more)
	want := []string{
		"ExecuteMultiOperation", "RequestCancelWorkflowExecution", "SignalWithStartWorkflowExecution", "SignalWorkflowExecution",
		"StartWorkflowExecution", "TerminateWorkflowExecution", "UpdateWorkflowExecution",
	}
	if !slices.Equal(more, want) {
		t.Errorf("operator: %v", more)
	}
	for _, call := range ofNamespace() {
		if !allows(t, "root", authorization.RoleAdmin, namespace, call, nil) {
			t.Errorf("admin: %s", call)
		}
	}
}

func TestIngressSignalsAndNoMore(t *testing.T) {
	event := enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	workflow := func(name string) *common.WorkflowType { return &common.WorkflowType{Name: name} }
	for call, request := range map[string]any{
		"SignalWorkflowExecution":          &workflowservice.SignalWorkflowExecutionRequest{SignalName: "deliveryReceived"},
		"StartWorkflowExecution":           &workflowservice.StartWorkflowExecutionRequest{WorkflowType: workflow("parkedDelivery")},
		"SignalWithStartWorkflowExecution": &workflowservice.SignalWithStartWorkflowExecutionRequest{SignalName: "deliveryReceived", WorkflowType: workflow("followOrder")},
		"GetWorkflowExecutionHistory":      &workflowservice.GetWorkflowExecutionHistoryRequest{HistoryEventFilterType: event},
		"DescribeWorkflowExecution":        &workflowservice.DescribeWorkflowExecutionRequest{},
	} {
		if !allows(t, "faretrail-ingress", decides, namespace, call, request) {
			t.Errorf("ingress: %s", call)
		}
	}
	counted := &workflowservice.SignalWorkflowExecutionRequest{SignalName: "changesCounted"}
	if !allows(t, "faretrail-ingress", decides, namespace, "SignalWorkflowExecution", counted) {
		t.Error("ingress: changesCounted")
	}
	for call, request := range map[string]any{
		"SignalWorkflowExecution":     &workflowservice.SignalWorkflowExecutionRequest{SignalName: "renewToken"},
		"StartWorkflowExecution":      &workflowservice.StartWorkflowExecutionRequest{WorkflowType: workflow("requestRide")},
		"GetWorkflowExecutionHistory": &workflowservice.GetWorkflowExecutionHistoryRequest{},
		"UpdateWorkflowExecution":     &workflowservice.UpdateWorkflowExecutionRequest{},
		"TerminateWorkflowExecution":  &workflowservice.TerminateWorkflowExecutionRequest{},
		"QueryWorkflow":               &workflowservice.QueryWorkflowRequest{},
	} {
		if allows(t, "faretrail-ingress", works, namespace, call, request) {
			t.Errorf("ingress: %s", call)
		}
	}
}
