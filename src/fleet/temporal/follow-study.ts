import { formatMessage, TrituneError } from '#base/errors.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { groupQueue, READ_RECORDS } from '../workflow/names.ts';
import { PERMANENT } from '../workflow/permanent.ts';
import type { RecordsPart } from '../workflow/seams.ts';
import { asRecord } from './as-measured.ts';
import type { FleetClient } from './connection.ts';
import type { HeartbeatDetails } from './server-worker.ts';
import { onStudy, readProgress } from './studies.ts';

/** Callbacks of a follower of a study. */
export interface Follower {
  readonly onRecord: (record: StudyRecord) => Promise<void>;
  readonly onHeartbeat: (details: HeartbeatDetails) => void;
  /** Called with a message about a party that does not answer; with null when all is well again. */
  readonly onTrouble: (line: string | null) => void;
}

const LOOK_MS = 1_000;
/**
 * Milliseconds that Temporal, or the worker with the journal, may be away before a follower gives
 * up. The study goes on.
 */
const PATIENCE_MS = 3_600_000;
/** Shorter delays are not reported. */
const QUIET_MS = 5_000;

/**
 * Follows a study from the record with that number to its last. Waits for an hour if Temporal, or
 * the worker that keeps the journal, does not answer. Errors: INPUT_INVALID if there is no study of
 * that name, the signal's reason, SERVER_FAILED for a terminated study, and the error of the last
 * attempt.
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
  const keeper = await patiently(() => queryKeeper(client, study));
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
      // Asks once more, because its last records may have come in between.
      const status = await patiently(() => queryStatus(client, study));
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
    workflowId,
    taskQueue: groupQueue(group),
    args: [group, keeper, study, from],
  }) as Promise<RecordsPart>;
}

/**
 * Returns the worker that has taken the study's journal. Errors: if none has yet, or none answers.
 */
async function queryKeeper(client: FleetClient, study: string): Promise<string> {
  const keeper = (await readProgress(client, study))?.keeper;
  if (keeper) return keeper;
  throw new Error('no worker of its group answers');
}

const queryStatus = async (client: FleetClient, study: string): Promise<string> =>
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

/** Reports the workers' latest heartbeats, which no history holds. */
async function tellHeartbeats(client: FleetClient, study: string, onHeartbeat: Follower['onHeartbeat']): Promise<void> {
  const { raw } = await client.workflow.getHandle(study).describe();
  for (const { heartbeatDetails } of raw.pendingActivities ?? []) {
    const payloads = heartbeatDetails?.payloads ?? [];
    const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
    for (const payload of (await payloadCodecs[0]?.decode(payloads)) ?? [])
      onHeartbeat(payloadConverter.fromPayload<HeartbeatDetails>(payload));
  }
}

/**
 * Asks again while no one answers. Errors: the last one after an hour; at once one that no retry
 * would change; the signal's reason.
 */
async function untilAnswered<T>(
  ask: () => Promise<T>,
  onTrouble: Follower['onTrouble'],
  signal: AbortSignal,
): Promise<T> {
  const startMs = performance.now();
  for (let isReported = false; ; ) {
    signal.throwIfAborted();
    try {
      const answer = await untilAborted(ask(), signal);
      if (isReported) onTrouble(null);
      return answer;
    } catch (error) {
      const waitedMs = performance.now() - startMs;
      if (signal.aborted || isHopeless(error) || waitedMs > PATIENCE_MS) throw error;
      if (!isReported && waitedMs > QUIET_MS) {
        onTrouble(`the study is not seen at the moment: ${formatMessage(findRoot(error))}`);
        isReported = true;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

function isHopeless(error: unknown): boolean {
  const { type } = findRoot(error) as { type?: unknown };
  return error instanceof TrituneError || (typeof type === 'string' && PERMANENT.has(type));
}

/** Returns the cause of an error of the SDK. */
function findRoot(error: unknown): unknown {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? findRoot(cause) : error;
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
