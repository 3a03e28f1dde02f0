/**
 * Names that workflows, workers and clients share. Each belongs to one group of servers. Pure: the
 * workflow's sandbox runs it.
 */

/** Returns the queue for workflows, and for work that any worker of the group can do. */
export const groupQueue = (group: string): string => `tritune/${group}`;

/** Returns the queue of the worker that keeps a study's journal. */
export const keeperQueue = (group: string, keeper: string): string => `tritune/${group}/keeper/${keeper}`;

/** Returns the queue of work for one server. */
export const serverQueue = (group: string, server: string): string => `tritune/${group}/server/${server}`;

const WORKER = 'tritune-worker ';

/**
 * Returns a worker's identity for Temporal, which contains the names of its server and of its
 * journals.
 */
export const workerIdentity = (server: string, keeper: string): string => `${WORKER}${server} ${keeper}`;

/** Returns the server in a worker's identity; null for an unknown identity. */
export const serverOfIdentity = (identity: string): string | null =>
  identity.startsWith(WORKER) ? (identity.slice(WORKER.length).split(' ')[0] ?? null) : null;

/** Workflows, by the names of their functions. */
export const STUDY = 'trituneStudy';
export const READ_RECORDS = 'trituneReadRecords';
export const STEER = 'tritune-steer';
export const PROGRESS = 'tritune-progress';
