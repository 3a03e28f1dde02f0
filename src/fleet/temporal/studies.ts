import { TrituneError } from '../../base/errors.ts';
import type { StudyRecord } from '../../study/records/records.ts';
import { asRecord } from '../activities/as-measured.ts';
import type { HeartbeatDetails } from '../activities/server.ts';
import { groupQueue, PROGRESS, READ_RECORDS, STEER, STUDY } from '../workflow/names.ts';
import type { Command, FleetProgress, RecordsPart, StudyOrder } from '../workflow/seams.ts';
import type { StudyInput } from '../workflow/workflows.ts';
import type { FleetClient } from './connection.ts';
import { clientPackages } from './packages.ts';

/** How a study stands. */
export interface StudyStatus {
  readonly study: string;
  readonly group: string;
  /** As Temporal says it: RUNNING, COMPLETED, FAILED, CANCELLED, TERMINATED … */
  readonly status: string;
  readonly startedAt: Date;
  /** null where no worker of the group answers, or the study is over. */
  readonly progress: FleetProgress | null;
}

/** Starts a study; it goes on whatever becomes of this process. Errors: OUTPUT_EXISTS for the name of another study. */
export async function startStudy(
  client: FleetClient,
  order: StudyOrder,
  options: Partial<StudyInput> = {},
): Promise<void> {
  const { client: sdk } = await clientPackages();
  const input: StudyInput = { ...order, ...options };
  try {
    await client.workflow.start(STUDY, {
      ...{ workflowId: order.study, taskQueue: groupQueue(order.group), args: [input] },
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      // For `fleet status`: nothing of it is secret.
      staticSummary: `tritune, group ${order.group}`,
    });
  } catch (error) {
    if (!(error instanceof sdk.WorkflowExecutionAlreadyStartedError)) throw error;
    throw new TrituneError(
      'OUTPUT_EXISTS',
      `the study '${order.study}' already exists`,
      'choose another name with --study',
    );
  }
}

/** Asks something of a study under way. Errors: INPUT_INVALID where there is none of that name. */
export const steerStudy = (client: FleetClient, study: string, command: Command): Promise<void> =>
  onStudy(study, () => client.workflow.getHandle(study).signal(STEER, command));

/** Ends a study: what is under way is left, and every server is put back. Errors: INPUT_INVALID where there is none of that name. */
export const stopStudy = (client: FleetClient, study: string): Promise<void> =>
  onStudy(study, async () => {
    await client.workflow.getHandle(study).cancel();
  });

/** The studies of a group, or of all: those under way, and those of the last days that Temporal still knows. */
export async function listStudies(client: FleetClient, group?: string): Promise<readonly StudyStatus[]> {
  const found: StudyStatus[] = [];
  for await (const info of client.workflow.list({ query: `WorkflowType = '${STUDY}'` })) {
    const own = info.taskQueue.replace(/^tritune\//, '');
    if (group !== undefined && own !== group) continue;
    const status = info.status.name;
    if (status === 'CONTINUED_AS_NEW') continue;
    const progress = status === 'RUNNING' ? await progressOf(client, info.workflowId) : null;
    found.push({ study: info.workflowId, group: own, status, startedAt: info.startTime, progress });
  }
  return found;
}

/** How far a study is; null where no worker answers in time. */
export async function progressOf(client: FleetClient, study: string): Promise<FleetProgress | null> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_MS, () =>
      client.workflow.getHandle(study).query<FleetProgress>(PROGRESS),
    );
  } catch {
    return null;
  }
}

const ANSWER_MS = 10_000;

/** What whoever follows a study is told. */
export interface Follower {
  readonly onRecord: (record: StudyRecord) => Promise<void>;
  readonly onHeartbeat: (details: HeartbeatDetails) => void;
}

const LOOK_MS = 1_000;

/**
 * Follows a study from the record of that number on, to its last. Errors: INPUT_INVALID where there is none of that name, the signal's reason,
 * SERVER_FAILED where the study has ended and its records cannot be had.
 */
export async function followStudy(
  client: FleetClient,
  study: string,
  from: number,
  { onRecord, onHeartbeat }: Follower,
  signal: AbortSignal,
): Promise<void> {
  const { group } = await onStudy(study, () => described(client, study));
  const keeper = await keeperOf(client, study, signal);
  const heartbeats = setInterval(() => {
    tellHeartbeats(client, study, onHeartbeat).catch(() => undefined);
  }, LOOK_MS);
  try {
    for (let next = from; ; ) {
      signal.throwIfAborted();
      const { records, isEnd } = await untilAborted(readPart(client, { group, keeper, study }, next), signal);
      for (const record of records) await onRecord(asRecord(record));
      next += records.length;
      if (isEnd) return;
    }
  } finally {
    clearInterval(heartbeats);
  }
}

interface KeptStudy {
  readonly group: string;
  readonly keeper: string;
  readonly study: string;
}

let reads = 0;

function readPart(client: FleetClient, { group, keeper, study }: KeptStudy, from: number): Promise<RecordsPart> {
  const workflowId = `${study}/records/${from}/${process.pid}-${reads++}`;
  return client.workflow.execute(READ_RECORDS, {
    ...{ workflowId, taskQueue: groupQueue(group), args: [group, keeper, study, from] },
  }) as Promise<RecordsPart>;
}

/** Waits until a worker has taken the study's journal. */
async function keeperOf(client: FleetClient, study: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const keeper = (await progressOf(client, study))?.keeper;
    if (keeper) return keeper;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function described(client: FleetClient, study: string): Promise<{ readonly group: string }> {
  const { taskQueue } = await client.workflow.getHandle(study).describe();
  return { group: taskQueue.replace(/^tritune\//, '') };
}

/** What the workers said last of what they do: it goes by heartbeats, and is in no history. */
async function tellHeartbeats(client: FleetClient, study: string, onHeartbeat: Follower['onHeartbeat']): Promise<void> {
  const { raw } = await client.workflow.getHandle(study).describe();
  for (const { heartbeatDetails } of raw.pendingActivities ?? []) {
    const payloads = heartbeatDetails?.payloads ?? [];
    const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
    for (const payload of (await payloadCodecs[0]?.decode(payloads)) ?? [])
      onHeartbeat(payloadConverter.fromPayload<HeartbeatDetails>(payload));
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function onStudy<T>(study: string, ask: () => Promise<T>): Promise<T> {
  const { common } = await clientPackages();
  return ask().catch((error: unknown) => {
    if (!(error instanceof common.WorkflowNotFoundError)) throw error;
    throw new TrituneError(
      'INPUT_INVALID',
      `no study '${study}' is running`,
      'list the studies with tritune fleet status',
    );
  });
}
