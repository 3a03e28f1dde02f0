import { readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { StudyStarted } from '#study/records/records.ts';
import { type Kind, type Subject, subjects } from './subjects.ts';
import { type Task, tritune } from './tritune.ts';

const spaces = join(import.meta.dirname, 'spaces');

/** Images are 588 KiB, so shared memory keeps loopback out of the figures. */
const memoryOf = ({ name }: Subject): string[] => (name === 'image' ? ['--shared-memory', 'system'] : []);
const threads = availableParallelism() > 4 ? ['--client-threads', '2'] : [];

/**
 * Runs one study. Leaves a finished one alone, and continues an interrupted one. Returns the exit
 * code.
 */
export async function tune(task: Task, subject: Subject, budgetMs: number): Promise<number> {
  if (!(budgetMs > 0)) throw new Error('which budget, in milliseconds?');
  const directory = directoryOf(task, subject, budgetMs);
  if (await isFinished(directory)) {
    console.log(`${directory} is finished`);
    return 0;
  }
  // The rest of an interrupted study gets the time of a whole one.
  const begun = await kindBegunOn(directory);
  const how = begun
    ? ['--resume', directory, '--time-budget', `${2 * task.seconds}s`]
    : [
        ...['--model', subject.name, '--output', directory, '--time-budget', `${task.seconds}s`],
        ...['--space', join(spaces, `${subject.name}.yaml`), '--latency-budget', String(budgetMs)],
        ...['--concurrency', '1:256', ...memoryOf(subject), ...threads],
      ];
  return tritune(begun ? { ...task, kinds: [begun] } : task, subject, ['tune', '--ui', 'lines', ...how], {
    log: `${subject.name}-${budgetMs}.log`,
    afresh: () => rm(directory, { recursive: true, force: true }),
  });
}

/** Runs the first unfinished study of all models and budgets. */
export async function nextStudy(task: Task): Promise<number> {
  for (const subject of subjects) {
    for (const budgetMs of subject.budgetsMs[task.size]) {
      if (!(await isFinished(directoryOf(task, subject, budgetMs)))) return tune(task, subject, budgetMs);
    }
  }
  console.log('every study is finished');
  return 0;
}

/**
 * Records a full grid of 36 candidates at four levels, for `tritune-lab bench-search`; continues an
 * interrupted one.
 */
export async function record(task: Task, subject: Subject): Promise<number> {
  const directory = join(task.results, `${subject.name}-grid.recording`);
  const begun = await kindBegunOn(directory);
  const how = begun
    ? ['--resume', directory]
    : [
        ...['--model', subject.name, '--output', join(task.results, `${subject.name}-grid.json`)],
        ...['--space', join(spaces, 'grid.yaml'), '--concurrency', '1,4,16,64', ...memoryOf(subject), ...threads],
      ];
  return tritune(begun ? { ...task, kinds: [begun] } : task, subject, ['record', ...how], {
    log: `${subject.name}-grid.log`,
    afresh: () => rm(directory, { recursive: true, force: true }),
  });
}

/**
 * The original config under rising load, with its tensors in messages, in system shared memory and,
 * where there is one, on the GPU.
 */
export async function transports(task: Task, subject: Subject): Promise<number> {
  for (const memory of ['none', 'system', ...(task.machine.torch?.gpu ? ['cuda'] : [])]) {
    const file = join(task.results, `${subject.name}-${memory}.csv`);
    const how = ['--model', subject.name, '--protocol', 'grpc', '--concurrency-range', '8:32:8', '--percentile', '99'];
    const where = ['--shared-memory', memory, '--csv', file];
    const code = await tritune(task, subject, ['profile', ...how, ...where, ...threads], {
      log: `${subject.name}-${memory}.log`,
    });
    if (code !== 0) return code;
  }
  return 0;
}

function directoryOf({ results }: Task, subject: Subject, budgetMs: number): string {
  return join(results, `${subject.name}-${budgetMs}`);
}

async function isFinished(directory: string): Promise<boolean> {
  const text = await readFile(join(directory, 'summary.json'), 'utf8').catch(() => null);
  return text !== null && (JSON.parse(text) as { interrupted: boolean }).interrupted === false;
}

/** Where the instances of a study that was begun are; null where none was. */
async function kindBegunOn(directory: string): Promise<Kind | null> {
  const journal = await readFile(join(directory, 'journal.jsonl'), 'utf8').catch(() => '');
  if (journal === '') return null;
  const { original } = JSON.parse(journal.slice(0, journal.indexOf('\n'))) as Pick<StudyStarted, 'original'>;
  return original.shape.groups[0]?.device === 'gpu' ? 'gpu' : 'cpu';
}
