import { formatMessage } from '#base/errors.ts';
import { isOfFinal } from '#fleet/study/handed-out.ts';
import type { FleetClient } from '#fleet/temporal/connection.ts';
import { followStudy } from '#fleet/temporal/follow-study.ts';
import type { HeartbeatDetails } from '#fleet/temporal/server-worker.ts';
import { startStudy, steerStudy, stopStudy } from '#fleet/temporal/studies.ts';
import type { StudyInput, StudyOrder, WorkflowCommand } from '#fleet/workflow/seams.ts';
import type { Metrics } from '#study/goal/metrics/registry.ts';
import type { Journal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { writeDocuments } from '../run-documents.ts';
import type { StudyOutcome, StudyWatch } from '../study/watch.ts';

/** A copy, on this machine, of a study that runs elsewhere. */
export interface Mirror {
  readonly directory: string;
  readonly journal: Journal;
  /** The records that it already has. */
  readonly earlier: readonly StudyRecord[];
  readonly metrics?: Metrics;
}

/** Starts a study on a group of servers. Errors: OUTPUT_EXISTS, SERVER_UNREACHABLE. */
export const beginOnFleet = (client: FleetClient, order: StudyOrder, options?: Partial<StudyInput>): Promise<void> =>
  startStudy(client, order, options);

/**
 * Follows a study to its end, and writes its journal and documents here too. When the signal
 * aborts, `onLeave` says whether to end the study as well; if so, follows it until its servers are
 * restored. Returns how it ended. Errors: those of `followStudy`, OUTPUT_UNWRITABLE.
 */
export async function followOnFleet(
  client: FleetClient,
  study: string,
  { directory, journal, earlier, metrics }: Mirror,
  watch: StudyWatch,
  { signal, stops }: { readonly signal: AbortSignal; readonly stops: boolean },
): Promise<StudyOutcome> {
  passOn(client, study, watch);
  const stop = (): void => {
    stopStudy(client, study).catch((error: unknown) => watch.tell(`cannot stop the study: ${formatMessage(error)}`));
  };
  if (stops) signal.addEventListener('abort', stop, { once: true });
  const finished = new Set(earlier.flatMap(finishedIn));
  const tellHeartbeat = heartbeatTo(watch, finished);
  try {
    const onRecord = async (record: StudyRecord): Promise<void> => {
      await journal.append(record);
      watch.onEvent(record);
      for (const trial of finishedIn(record)) finished.add(trial);
      const line = serverLine(record);
      if (line !== null) watch.tell(line);
    };
    const until = stops ? new AbortController().signal : signal;
    const onTrouble = (line: string | null): void => watch.tell(line ?? 'the study is seen again');
    await followStudy(client, study, earlier.length, { onRecord, onHeartbeat: tellHeartbeat, onTrouble }, until);
  } catch (error) {
    if (signal.aborted && !stops) return 'interrupted';
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  const written = await writeDocuments(directory, metrics ? { metrics } : {});
  watch.onEnd(written);
  if (signal.aborted) return 'interrupted';
  return written.summary.feasible ? 'done' : 'infeasible';
}

/** Returns the message about a server that joins or leaves; null for other records. */
function serverLine(record: StudyRecord): string | null {
  if (record.type === 'server-joined') return `${record.server} takes the study`;
  return record.type === 'server-left' ? `${record.server} takes no trials: ${record.reason}` : null;
}

/** Sends a person's commands to the study where it runs. */
function passOn(client: FleetClient, study: string, { steering, tell }: StudyWatch): void {
  steering?.passOn((command: WorkflowCommand) => {
    steerStudy(client, study, command).catch((error: unknown) =>
      tell(`the study did not get the command: ${formatMessage(error)}`),
    );
  });
}

const finishedIn = (record: StudyRecord): readonly number[] => (record.type === 'trial-finished' ? [record.trial] : []);

/**
 * Reports each heartbeat once. Skips those that come after the end of their trial, and those about
 * the original on another server.
 */
function heartbeatTo(watch: StudyWatch, finished: ReadonlySet<number>): (details: HeartbeatDetails) => void {
  const lastLines = new Map<string, string>();
  return ({ work, trial, event }) => {
    if (work === undefined || trial === undefined || !event || !('trial' in event)) return;
    const text = JSON.stringify(event);
    if (lastLines.get(work) === text || (finished.has(trial) && !isOfFinal(work))) return;
    lastLines.set(work, text);
    // Each server numbers its own trials.
    if (event.type === 'applying' || event.type === 'measuring' || event.type === 'progress')
      watch.onEvent({ ...event, trial });
  };
}
