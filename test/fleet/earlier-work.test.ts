import { expect, it } from 'vitest';
import { giveUpEarlierWork } from '#fleet/temporal/earlier-work.ts';

const SCHEDULED = 1;
const STARTED = 2;
const OWN = 'tritune-worker gpu1:8001 here';

/**
 * Temporal with two running studies; the second activity of the second has timed out since it was
 * listed.
 */
function madeUpTemporal() {
  const answered: unknown[] = [];
  const pending: Record<string, object[]> = {
    one: [
      { activityId: '1', state: STARTED, lastWorkerIdentity: OWN },
      { activityId: '2', state: STARTED, lastWorkerIdentity: 'tritune-worker gpu2:8001 there' },
      { activityId: '3', state: SCHEDULED, lastWorkerIdentity: OWN },
    ],
    two: [
      { activityId: '4', state: STARTED, lastWorkerIdentity: OWN },
      { activityId: '5', state: STARTED, lastWorkerIdentity: OWN },
    ],
  };
  let query = '';
  const workflowService = {
    listWorkflowExecutions: async (asked: { query: string }) => {
      query = asked.query;
      return {
        executions: ['one', 'two'].map((workflowId) => ({ execution: { workflowId, runId: `${workflowId}-run` } })),
      };
    },
    describeWorkflowExecution: async ({ execution }: { execution: { workflowId: string } }) => ({
      pendingActivities: pending[execution.workflowId],
    }),
    respondActivityTaskFailedById: async (answer: { activityId: string }) => {
      if (answer.activityId === '4') throw Object.assign(new Error('activity not found'), { code: 5 });
      answered.push(answer);
    },
  };
  return { connection: { workflowService } as never, answered, query: () => query };
}

it('gives up what its earlier process had begun, and nothing of others', async () => {
  const { connection, answered, query } = madeUpTemporal();
  const given = { connection, namespace: 'n', group: 'a100', identity: OWN };
  expect(await giveUpEarlierWork(given)).toBe(2);
  expect(query()).toContain("TaskQueue = 'tritune/a100'");
  expect(answered).toMatchObject([
    { namespace: 'n', workflowId: 'one', runId: 'one-run', activityId: '1', identity: OWN },
    { workflowId: 'two', runId: 'two-run', activityId: '5' },
  ]);
  expect(answered[0]).toMatchObject({ failure: { message: 'its worker was started again' } });
});
