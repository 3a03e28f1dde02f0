import { TrituneError } from '#base/errors.ts';
import { groupQueue, PROGRESS, STEER, STUDY } from '../workflow/names.ts';
import type { FleetProgress, StudyInput, StudyOrder, WorkflowCommand } from '../workflow/seams.ts';
import type { FleetClient } from './connection.ts';
import { clientPackages } from './packages.ts';

/** The status of a study. */
export interface StudyStatus {
  readonly study: string;
  readonly group: string;
  /** Temporal's status: RUNNING, COMPLETED, FAILED, CANCELLED, TERMINATED … */
  readonly status: string;
  readonly startedAt: Date;
  /** null if no worker of the group answers, or the study is over. */
  readonly progress: FleetProgress | null;
}

/**
 * Starts a study, which goes on whatever happens to this process. Errors: OUTPUT_EXISTS for the
 * name of another study.
 */
export async function startStudy(
  client: FleetClient,
  order: StudyOrder,
  options: Partial<StudyInput> = {},
): Promise<void> {
  const { client: sdk } = await clientPackages();
  const input: StudyInput = { ...order, ...options };
  try {
    await client.workflow.start(STUDY, {
      workflowId: order.study,
      taskQueue: groupQueue(order.group),
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      // Shown by `fleet status`; nothing in it is secret.
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

/** Sends a command to a running study. Errors: INPUT_INVALID if there is no study of that name. */
export const steerStudy = (client: FleetClient, study: string, command: WorkflowCommand): Promise<void> =>
  onStudy(study, () => client.workflow.getHandle(study).signal(STEER, command));

/**
 * Ends a study: drops the work under way, and restores every server. Errors: INPUT_INVALID if there
 * is no study of that name.
 */
export const stopStudy = (client: FleetClient, study: string): Promise<void> =>
  onStudy(study, async () => {
    await client.workflow.getHandle(study).cancel();
  });

/**
 * Returns the studies of a group, or all: those under way, and recent ones that Temporal still
 * knows.
 */
export async function listStudies(client: FleetClient, group?: string): Promise<readonly StudyStatus[]> {
  const statuses: StudyStatus[] = [];
  for await (const info of client.workflow.list({ query: `WorkflowType = '${STUDY}'` })) {
    const ownGroup = info.taskQueue.replace(/^tritune\//, '');
    if (group !== undefined && ownGroup !== group) continue;
    const status = info.status.name;
    if (status === 'CONTINUED_AS_NEW') continue;
    const progress = status === 'RUNNING' ? await readProgress(client, info.workflowId) : null;
    statuses.push({ study: info.workflowId, group: ownGroup, status, startedAt: info.startTime, progress });
  }
  return statuses;
}

/** Returns a study's progress; null if no worker answers in time. */
export async function readProgress(client: FleetClient, study: string): Promise<FleetProgress | null> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_MS, () =>
      client.workflow.getHandle(study).query<FleetProgress>(PROGRESS),
    );
  } catch {
    return null;
  }
}

const ANSWER_MS = 10_000;

/** Asks about one study. Errors: INPUT_INVALID if there is no study of that name. */
export async function onStudy<T>(study: string, ask: () => Promise<T>): Promise<T> {
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
