import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { FleetClient } from '#fleet/temporal/connection.ts';
import { followStudy } from '#fleet/temporal/follow-study.ts';
import { listStudies, type StudyStatus, steerStudy, stopStudy } from '#fleet/temporal/studies.ts';
import type { Board } from '#watch/board.ts';
import type { PageOrder } from '#watch/page-controls.ts';
import type { StudyHead } from '#watch/view/watched.ts';

const LOOK_MS = 2_000;
/**
 * The first and the longest delay before a failed study is followed again; the delay doubles each
 * time.
 */
const AGAIN_MS = { first: 2_000, most: 60_000 } as const;
/** The number of finished studies shown in full: the latest ones. */
const MAX_OVER = 3;

/** The source of the board: Temporal, or a test double. */
export interface FleetSource {
  list(): Promise<readonly StudyStatus[]>;
  follow: (...args: Tail<Parameters<typeof followStudy>>) => Promise<void>;
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

/** The studies of a group, or of all, as Temporal has them. */
export const fleetSource = (client: FleetClient, group: string | undefined): FleetSource => ({
  list: () => client.withDeadline(Date.now() + LIST_LIMIT_MS, () => listStudies(client, group)),
  follow: (...args) => followStudy(client, ...args),
});

const LIST_LIMIT_MS = 30_000;

/**
 * Passes a person's request on the page to the study. Errors: INPUT_INVALID if there is no study of
 * that name.
 */
export const orderOnFleet =
  (client: FleetClient) =>
  (study: string, order: PageOrder): Promise<void> =>
    order.kind === 'stop-now' ? stopStudy(client, study) : steerStudy(client, study, order);

/**
 * Fills the board with a fleet's studies until the signal aborts. Retries what fails, and says so
 * on the page.
 */
export async function watchFleet(
  source: FleetSource,
  board: Board,
  signal: AbortSignal,
  clock = realClock,
): Promise<void> {
  const followed = new Map<string, { readonly end: AbortController; readonly ended: Promise<void> }>();
  while (!signal.aborted) {
    try {
      const all = (await source.list()).toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
      board.list(all.map(toHead));
      for (const { study, progress } of all) if (followed.has(study)) board.progress(study, progress);
      board.trouble(null);
      const over = all.filter(({ status }) => status !== 'RUNNING').slice(0, MAX_OVER);
      const statuses = all.filter(
        (each) => each.status === 'RUNNING' || over.includes(each) || followed.has(each.study),
      );
      for (const { study } of statuses) {
        if (followed.has(study)) continue;
        const end = new AbortController();
        followed.set(study, {
          end,
          ended: followWhole(source, study, board, AbortSignal.any([signal, end.signal]), clock),
        });
      }
      for (const [study, { end }] of followed) {
        if (all.some((each) => each.study === study)) continue;
        end.abort();
        followed.delete(study);
      }
    } catch (error) {
      board.trouble(`Temporal does not answer; what is shown is what was known: ${formatMessage(error)}`);
    }
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
  await Promise.allSettled([...followed.values()].map(({ ended }) => ended));
}

/** Follows a study to its last record, despite any number of interruptions. */
async function followWhole(
  source: FleetSource,
  study: string,
  board: Board,
  signal: AbortSignal,
  clock: typeof realClock,
): Promise<void> {
  let againMs: number = AGAIN_MS.first;
  while (!signal.aborted) {
    const before = board.known(study);
    try {
      await source.follow(
        study,
        before,
        {
          onRecord: async (record) => board.take(study, record),
          onHeartbeat: (details) => board.heartbeat(study, details),
          onTrouble: (line) => board.doubt(study, line),
        },
        signal,
      );
      return;
    } catch {
      againMs = board.known(study) > before ? AGAIN_MS.first : Math.min(AGAIN_MS.most, 2 * againMs);
      await clock.sleep(againMs, signal).catch(() => undefined);
    }
  }
}

const toHead = ({ study, group, status, startedAt }: StudyStatus): StudyHead => ({
  study,
  group,
  startedAt: startedAt.toISOString(),
  status: lookUp(words, status) ?? 'over',
});

/** Temporal's words for the status of a workflow. */
const words: Readonly<Record<string, StudyHead['status']>> = {
  RUNNING: 'under way',
  COMPLETED: 'over',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed out',
};
