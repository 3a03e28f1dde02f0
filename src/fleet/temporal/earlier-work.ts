import type { NativeConnection } from '@temporalio/worker';
import { groupQueue, STUDY } from '../workflow/names.ts';

/** PENDING_ACTIVITY_STATE_STARTED of Temporal's API, and NOT_FOUND of gRPC. */
const STARTED = 2;
const NOT_FOUND = 5;
const REASON = 'its worker was started again';

interface Returned {
  readonly connection: Pick<NativeConnection, 'workflowService'>;
  readonly namespace: string;
  readonly group: string;
  /** The worker's identity, which no other process may have at the same time. */
  readonly identity: string;
}

/**
 * Tells Temporal at the start of a worker that its earlier process no longer does what it was
 * doing. Otherwise, everybody waits until its heartbeats are missed. Returns the number of
 * activities. Errors: those of Temporal's API.
 */
export async function giveUpEarlierWork({ connection, namespace, group, identity }: Returned): Promise<number> {
  const { workflowService } = connection;
  const query = `WorkflowType = '${STUDY}' AND TaskQueue = '${groupQueue(group)}' AND ExecutionStatus = 'Running'`;
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, query });
  let abandonedCount = 0;
  for (const { execution } of executions ?? []) {
    if (!execution) continue;
    const { pendingActivities } = await workflowService.describeWorkflowExecution({ namespace, execution });
    for (const { activityId, state, lastWorkerIdentity } of pendingActivities ?? []) {
      if (state !== STARTED || lastWorkerIdentity !== identity) continue;
      const { workflowId, runId } = execution;
      const failure = { message: REASON, source: 'tritune', applicationFailureInfo: { type: 'WORKER_RETURNED' } };
      try {
        await workflowService.respondActivityTaskFailedById({
          namespace,
          workflowId,
          runId,
          activityId,
          identity,
          failure,
        });
        abandonedCount++;
      } catch (error) {
        // It has timed out meanwhile.
        if ((error as { code?: unknown }).code !== NOT_FOUND) throw error;
      }
    }
  }
  return abandonedCount;
}
