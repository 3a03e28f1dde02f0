import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import { groupQueue, keeperQueue, serverQueue } from './names.ts';
import { PERMANENT } from './permanent.ts';
import type { GroupActivities, KeeperActivities, ServerActivities, StudyOrder } from './seams.ts';

type Group = Pick<StudyOrder, 'group'>;

const steadily = { initialInterval: '1 second', maximumInterval: '30 seconds', backoffCoefficient: 2 } as const;
const unlessPermanent = { ...steadily, nonRetryableErrorTypes: [...PERMANENT] };

/** Returns the activities of any worker of the group. */
export const onAnyWorker = ({ group }: Group): GroupActivities =>
  proxyActivities<GroupActivities>({
    taskQueue: groupQueue(group),
    startToCloseTimeout: '1 minute',
    retry: steadily,
  });

/** Returns the activities of the worker that keeps the journal. */
export const onKeeper = ({ group }: Group, keeper: string): KeeperActivities =>
  proxyActivities<KeeperActivities>({
    taskQueue: keeperQueue(group, keeper),
    startToCloseTimeout: '30 minutes',
    heartbeatTimeout: '60 seconds',
    // The machine with the journal may be away for this long.
    scheduleToCloseTimeout: '24 hours',
    retry: unlessPermanent,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });

/** Returns the reading of the journal on that worker, for followers who ask again anyway. */
export const readingOnKeeper = ({ group }: Group, keeper: string): Pick<KeeperActivities, 'readRecords'> =>
  proxyActivities<KeeperActivities>({
    taskQueue: keeperQueue(group, keeper),
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '5 minutes',
    retry: steadily,
  });

/**
 * Returns the activities of a server's worker. `restoreHours`: how long that may be away while its
 * server must be restored.
 */
export function onServer(
  { group }: Group,
  server: string,
  { restoreHours }: { readonly restoreHours: number },
): ServerActivities {
  const taskQueue = serverQueue(group, server);
  const heartbeatTimeout = '60 seconds';
  const hold = proxyActivities<ServerActivities>({
    taskQueue,
    heartbeatTimeout,
    scheduleToStartTimeout: '90 seconds',
    startToCloseTimeout: '10 minutes',
    retry: { ...unlessPermanent, maximumAttempts: 3 },
  });
  const work = proxyActivities<ServerActivities>({
    taskQueue,
    heartbeatTimeout,
    scheduleToStartTimeout: '90 seconds',
    startToCloseTimeout: '6 hours',
    // Another server may try the work: the conductor counts attempts.
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  const restore = proxyActivities<ServerActivities>({
    taskQueue,
    heartbeatTimeout,
    startToCloseTimeout: '30 minutes',
    // The machine with the server may be away for this long.
    scheduleToCloseTimeout: `${restoreHours} hours`,
    retry: steadily,
  });
  return {
    hold: (...parameters) => hold.hold(...parameters),
    work: (...parameters) => work.work(...parameters),
    restore: (...parameters) => restore.restore(...parameters),
  };
}
