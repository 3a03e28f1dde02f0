import type { FleetClient } from '#fleet/temporal/connection.ts';

/** The history of one run of a study's workflow, by Temporal's own count. */
export interface StudyHistory {
  readonly runId: string;
  readonly events: number;
  readonly bytes: number;
}

/** Returns the histories of a study, the first one first. */
export async function historiesOf(client: FleetClient, study: string): Promise<readonly StudyHistory[]> {
  const found: (StudyHistory & { readonly startMs: number })[] = [];
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${study}'` })) {
    const { historyLength, historySize = 0, startTime } = await client.workflow.getHandle(study, runId).describe();
    found.push({ runId, events: historyLength, bytes: historySize, startMs: startTime.getTime() });
  }
  return found.sort((a, b) => a.startMs - b.startMs).map(({ runId, events, bytes }) => ({ runId, events, bytes }));
}

/** Returns the bytes of the largest payload in the histories. */
export async function largestPayloadOf(
  client: FleetClient,
  study: string,
  histories: readonly StudyHistory[],
): Promise<number> {
  let most = 0;
  for (const { runId } of histories)
    most = Math.max(most, largestIn(await client.workflow.getHandle(study, runId).fetchHistory()));
  return most;
}

function largestIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((most: number, each) => Math.max(most, largestIn(each)), 0);
}
