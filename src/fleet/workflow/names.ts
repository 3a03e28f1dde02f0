/** Names that workflows, workers and clients agree on. All are of one group of servers. Pure: the workflow's sandbox runs it. */

/** Where workflows and what any worker of the group may do are asked for. */
export const groupQueue = (group: string): string => `tritune/${group}`;

/** Where the worker is asked that keeps a study's journal. */
export const keeperQueue = (group: string, keeper: string): string => `tritune/${group}/keeper/${keeper}`;

/** Where work for one server is asked for. */
export const serverQueue = (group: string, server: string): string => `tritune/${group}/server/${server}`;

const WORKER = 'tritune-worker ';

/** What a worker calls itself to Temporal: the names of its server and of its journals are found by it. */
export const workerIdentity = (server: string, keeper: string): string => `${WORKER}${server} ${keeper}`;

/** The server of a worker's identity; null for a stranger's. */
export const serverOfIdentity = (identity: string): string | null =>
  identity.startsWith(WORKER) ? (identity.slice(WORKER.length).split(' ')[0] ?? null) : null;

/** Workflows, by the names of their functions. */
export const STUDY = 'trituneStudy';
export const READ_RECORDS = 'trituneReadRecords';
export const STEER = 'tritune-steer';
export const PROGRESS = 'tritune-progress';
