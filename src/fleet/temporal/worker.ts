import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { groupQueue, keeperQueue, serverOfIdentity, serverQueue, workerIdentity } from '../workflow/names.ts';
import { NEVER_RESTORED } from '../workflow/permanent.ts';
import type { GroupActivities } from '../workflow/seams.ts';
import { watchForAbandoned } from './abandoned.ts';
import { withFailures, withHeartbeats } from './activity-wrappers.ts';
import { connectionOptions, createDataConverter, type TemporalAddress, unreachable } from './connection.ts';
import { giveUpEarlierWork } from './earlier-work.ts';
import { Keeper, type StudyHost } from './keeper.ts';
import { type WorkerPackages, workerPackages } from './packages.ts';
import { type HeartbeatDetails, type ServerHost, ServerWorker } from './server-worker.ts';
import { workflowBundle } from './workflow-bundle.ts';

/** A worker of a group: it drives one server and keeps journals. */
export interface FleetWorkerOptions {
  readonly temporal: TemporalAddress;
  readonly group: string;
  /** The name of its journals, which survives a restart on the same state directory. */
  readonly keeper: string;
  readonly studies: StudyHost;
  readonly server: ServerHost;
  readonly tell: (line: string) => void;
}

/**
 * A worker that has not polled for this long is gone; a waiting one polls again within a minute.
 */
const SEEN_LATELY_MS = 90_000;
/** The SDK's message about workers that only run activities. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';
/** Milliseconds in which work under way must end when the worker is asked to stop. */
const GRACE_MS = 30_000;

/**
 * The maximum interval of heartbeats, so that observers learn of every window, or of one per
 * second. By default the SDK throttles heartbeats to most of their time-out, 48 s.
 */
const TOLD_EVERY_MS = 1_000;

/**
 * Runs a worker until the signal aborts. Errors: UNSUPPORTED without the packages,
 * SERVER_UNREACHABLE for Temporal.
 */
export async function runFleetWorker(options: FleetWorkerOptions, signal: AbortSignal): Promise<void> {
  const { temporal, group, keeper, studies, server, tell } = options;
  const packages = await workerPackages();
  const { worker: sdk, activity } = packages;
  const logger = new sdk.DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message !== NO_WORKFLOWS)
      tell(`temporal: ${level}: ${message}${meta?.error ? `: ${formatMessage(meta.error)}` : ''}`);
  });
  sdk.Runtime.install({ shutdownSignals: [], logger, telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } });
  const connection = await connected(packages, temporal, tell, signal);
  const { namespace } = temporal;
  const seen = async (): Promise<readonly string[]> => {
    const taskQueue = { name: groupQueue(group) };
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue,
      taskQueueType: ACTIVITY,
    });
    const lately = (pollers ?? []).filter(({ lastAccessTime }) => Date.now() - toMs(lastAccessTime) < SEEN_LATELY_MS);
    return [...new Set(lately.flatMap(({ identity }) => serverOfIdentity(identity ?? '') ?? []))].sort();
  };
  const keeping = new Keeper(studies, seen);
  const serving = new ServerWorker(server, () => {
    const context = activity.Context.current();
    return { signal: context.cancellationSignal, heartbeat: (details: HeartbeatDetails) => context.heartbeat(details) };
  });
  const { openStudy, advance, concludeStudy, readRecords } = keeping;
  const { hold, work, restore } = serving;
  const identity = workerIdentity(server.name, keeper);
  const common = {
    connection,
    namespace,
    dataConverter: createDataConverter(temporal),
    identity,
    shutdownGraceTime: GRACE_MS,
  } as const;
  const claim: GroupActivities['claim'] = async () => keeper;
  try {
    await giveUpEarlierWork({ connection, namespace, group, identity }).catch((error: unknown) =>
      tell(`cannot give up what an earlier process of this worker was doing: ${formatMessage(error)}`),
    );
    const workers = [
      await sdk.Worker.create({
        ...common,
        taskQueue: groupQueue(group),
        activities: withFailures({ claim }, packages),
        workflowBundle: await workflowBundle(packages, logger),
      }),
      await sdk.Worker.create({
        ...common,
        taskQueue: keeperQueue(group, keeper),
        activities: withHeartbeats(
          withFailures({ openStudy, advance, concludeStudy, readRecords }, packages),
          packages,
        ),
      }),
      await sdk.Worker.create({
        ...common,
        taskQueue: serverQueue(group, server.name),
        maxConcurrentActivityTaskExecutions: 1,
        maxHeartbeatThrottleInterval: TOLD_EVERY_MS,
        activities: {
          ...withFailures({ hold, work }, packages),
          ...withFailures({ restore }, packages, NEVER_RESTORED),
        },
      }),
    ];
    tell(`worker of group '${group}' for ${server.name}: ready`);
    const stop = (): void => {
      for (const each of workers) if (each.getState() === 'RUNNING') each.shutdown();
    };
    signal.addEventListener('abort', stop, { once: true });
    const unwatch = watchForAbandoned({ connection, namespace, host: server, serving, tell });
    try {
      await Promise.all(workers.map((each) => (signal.aborted ? Promise.resolve() : each.run()).finally(stop)));
    } finally {
      unwatch();
    }
  } finally {
    await keeping.close();
    await serving.close();
    await connection.close();
  }
}

/**
 * Milliseconds that Temporal may be away when a worker starts: an orchestrator starts both at once.
 */
const START_PATIENCE_MS = 300_000;
const ASK_AGAIN_MS = 2_000;

/** Errors: SERVER_UNREACHABLE, the signal's reason. */
async function connected(
  { worker: sdk }: WorkerPackages,
  temporal: TemporalAddress,
  tell: FleetWorkerOptions['tell'],
  signal: AbortSignal,
) {
  const startMs = performance.now();
  for (let isReported = false; ; isReported = true) {
    try {
      return await sdk.NativeConnection.connect(connectionOptions(temporal));
    } catch (error) {
      const fault = unreachable(temporal.address, error);
      if (performance.now() - startMs > START_PATIENCE_MS) throw fault;
      if (!isReported)
        tell(`${fault.message}; it is asked again for ${START_PATIENCE_MS / 60_000} minutes (${fault.hint})`);
      await realClock.sleep(ASK_AGAIN_MS, signal);
    }
  }
}

/** TASK_QUEUE_TYPE_ACTIVITY of Temporal's API. */
const ACTIVITY = 2;

const toMs = (time: { seconds?: unknown } | null | undefined): number => Number(time?.seconds ?? 0) * 1e3;
