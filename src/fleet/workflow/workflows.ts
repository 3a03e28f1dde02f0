import { continueAsNew, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import type { StudyEnd } from '../study/report.ts';
import { readingOnKeeper } from './activity-calls.ts';
import { PROGRESS, STEER } from './names.ts';
import type { FleetProgress, RecordsPart, StudyInput, WorkflowCommand } from './seams.ts';
import { StudyRun } from './study-run.ts';

export const steer = defineSignal<[WorkflowCommand]>(STEER);
export const progress = defineQuery<FleetProgress>(PROGRESS);

/** Runs a study over the servers of a group, from its baseline to the last restored model. */
export async function trituneStudy(input: StudyInput): Promise<StudyEnd> {
  const run = new StudyRun(input, (next) => continueAsNew<typeof trituneStudy>(next));
  setHandler(steer, (command) => run.obey(command));
  setHandler(progress, () => run.progress);
  return run.run();
}

/**
 * Reads a part of a study's journal on the worker that keeps it, so that followers add nothing to
 * the study's own history.
 */
export const trituneReadRecords = (group: string, keeper: string, name: string, from: number): Promise<RecordsPart> =>
  readingOnKeeper({ group }, keeper).readRecords(name, from);
