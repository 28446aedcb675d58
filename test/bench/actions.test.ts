import { expect, it } from 'vitest';
import { actionsBetween, actionsIn, parseActions, sumOfActions } from '../../bench/actions.js';

it('the actions in a history are starts, signals, timers, upserts, and each attempt of an activity', () => {
  const events = [
    { attributes: 'workflowExecutionStartedEventAttributes' },
    { attributes: 'workflowTaskScheduledEventAttributes' },
    { attributes: 'activityTaskScheduledEventAttributes' },
    { attributes: 'activityTaskStartedEventAttributes', activityTaskStartedEventAttributes: { attempt: 3 } },
    { attributes: 'timerStartedEventAttributes' },
    { attributes: 'workflowExecutionSignaledEventAttributes' },
    { attributes: 'workflowExecutionSignaledEventAttributes' },
    { attributes: 'upsertWorkflowSearchAttributesEventAttributes' },
  ];
  expect(Object.fromEntries(actionsIn(events))).toEqual({
    'workflow started': 1,
    'activity attempt': 3,
    'timer started': 1,
    'signal sent': 2,
    'search attributes upserted': 1,
  });
  expect(sumOfActions(actionsIn(events))).toBe(8);
});

const metrics = `
# HELP action action counter
action{action_type="grpc_SignalWorkflowExecution",namespace="default",service_name="frontend"} 2
action{action_type="command_ScheduleActivityTask",namespace="default"} 5
action{action_type="activity_retry",namespace="default"} 1
action{action_type="grpc_RecordActivityTaskHeartbeat",namespace="default"} 7
action{action_type="grpc_StartWorkflowExecution",namespace="temporal_system"} 9
action{action_type="grpc_SomethingNew",namespace="default"} 1
action_requests{namespace="default"} 99
`;

it('the actions of a server are those of its namespace, heartbeats apart, also of a kind that we do not know', () => {
  const actions = parseActions(metrics);
  expect(Object.fromEntries(actions)).toEqual({
    'signal sent': 2,
    'activity attempt': 6,
    heartbeat: 7,
    grpc_SomethingNew: 1,
  });
  expect(sumOfActions(actions)).toBe(9);
  expect(sumOfActions(actionsBetween(actions, parseActions(metrics.replace(' 5', ' 8'))))).toBe(3);
});
