import { messageOf, TrituneError } from '../../base/errors.ts';
import type { StudyRecord } from '../../study/records/records.ts';
import { asRecord } from '../activities/as-measured.ts';
import type { HeartbeatDetails } from '../activities/server.ts';
import { groupQueue, READ_RECORDS } from '../workflow/names.ts';
import { PERMANENT } from '../workflow/permanent.ts';
import type { RecordsPart } from '../workflow/seams.ts';
import type { FleetClient } from './connection.ts';
import { onStudy, progressOf } from './studies.ts';

/** What whoever follows a study is told. */
export interface Follower {
  readonly onRecord: (record: StudyRecord) => Promise<void>;
  readonly onHeartbeat: (details: HeartbeatDetails) => void;
  /** Takes a line for people about who does not answer; null when all is well again. */
  readonly onTrouble: (line: string | null) => void;
}

const LOOK_MS = 1_000;
/** So long Temporal, or the worker with the journal, may be away before whoever follows gives up; the study goes on. */
const PATIENCE_MS = 3_600_000;
/** What takes a while is no trouble yet. */
const QUIET_MS = 5_000;

/**
 * Follows a study from the record of that number on, to its last; waits for an hour where Temporal, or the worker that keeps the journal, does not
 * answer. Errors: INPUT_INVALID where there is none of that name, the signal's reason, SERVER_FAILED for a study that was terminated, and what the
 * last try met.
 */
export async function followStudy(
  client: FleetClient,
  study: string,
  from: number,
  { onRecord, onHeartbeat, onTrouble }: Follower,
  signal: AbortSignal,
): Promise<void> {
  const { group } = await onStudy(study, () => described(client, study));
  const patiently = <T>(ask: () => Promise<T>): Promise<T> => untilAnswered(ask, onTrouble, signal);
  const keeper = await patiently(() => keeperOf(client, study));
  const heartbeats = setInterval(() => {
    tellHeartbeats(client, study, onHeartbeat).catch(() => undefined);
  }, LOOK_MS);
  try {
    for (let [next, wasOver] = [from, false]; ; ) {
      const { records, isEnd } = await patiently(() => readPart(client, { group, keeper, study }, next));
      for (const record of records) await onRecord(asRecord(record));
      next += records.length;
      if (isEnd) return;
      if (records.length > 0) continue;
      // Its last records may have come in between: it is asked once more.
      const status = await patiently(() => statusOf(client, study));
      if (wasOver) throw withoutEnd(study, status);
      wasOver = status !== 'RUNNING';
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

/** The worker that has taken the study's journal. Errors: none has yet, or none answers. */
async function keeperOf(client: FleetClient, study: string): Promise<string> {
  const keeper = (await progressOf(client, study))?.keeper;
  if (keeper) return keeper;
  throw new Error('no worker of its group answers');
}

const statusOf = async (client: FleetClient, study: string): Promise<string> =>
  (await onStudy(study, () => client.workflow.getHandle(study).describe())).status.name;

const withoutEnd = (study: string, status: string): TrituneError =>
  new TrituneError(
    'SERVER_FAILED',
    `study '${study}' ended as ${status.toLowerCase()}, and its end was not written down`,
    'its workers put their servers back within a minute or so; start it again under another name',
  );

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

/** Asks again while nobody answers. Errors: the last one after an hour, at once what no other try would change; the signal's reason. */
async function untilAnswered<T>(
  ask: () => Promise<T>,
  onTrouble: Follower['onTrouble'],
  signal: AbortSignal,
): Promise<T> {
  const startMs = performance.now();
  for (let isTold = false; ; ) {
    signal.throwIfAborted();
    try {
      const answer = await untilAborted(ask(), signal);
      if (isTold) onTrouble(null);
      return answer;
    } catch (error) {
      const waitedMs = performance.now() - startMs;
      if (signal.aborted || isHopeless(error) || waitedMs > PATIENCE_MS) throw error;
      if (!isTold && waitedMs > QUIET_MS) {
        onTrouble(`the study is not seen at the moment: ${messageOf(rootOf(error))}`);
        isTold = true;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

function isHopeless(error: unknown): boolean {
  const { type } = rootOf(error) as { type?: unknown };
  return error instanceof TrituneError || (typeof type === 'string' && PERMANENT.has(type));
}

/** What an error of the SDK is about. */
function rootOf(error: unknown): unknown {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? rootOf(cause) : error;
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
