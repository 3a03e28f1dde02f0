import { parseArgs } from 'node:util';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { mean } from 'simple-statistics';
import { makeSampler } from '#study/search/samplers/registry.ts';
import type { TimedMeasurement } from '#study/speed/evidence.ts';
import { fitSpeeds } from '#study/speed/speeds.ts';
import { contest } from '../lab/problems/contest.ts';
import { machineSpeed, type SpeedKind, slowestSpeed, speedKinds } from '../lab/problems/machine-speed.ts';
import { type BudgetedProblem, listBudgetedProblems } from '../lab/problems/problem.ts';
import { KINDS, type Kind, listTasks, openProblem, playOnThreads, problemOptions, type Task } from './test-problems.ts';

/**
 * How well a study knows the speed of its machine: `npm run bench:speeds -- --grids DIR`. Each
 * problem (test-problems.ts) is searched on a steady machine and on machines whose speed changes,
 * with a server on another host and on this one, whose own work shows the speed. Prints the error
 * of the estimated speeds, as root mean square of logarithms, beside that of taking each machine
 * for steady.
 */
const { values: options } = parseArgs({ options: problemOptions });
const MEASUREMENTS = 14;
/** Speeds are estimated after this many measurements, and after each second one from there. */
const FIRST = 4;
const FIRST_SECONDS = 60;
/** Errors of more than this, as a logarithm, would make one config look better than another. */
const LARGE = 0.1;

interface Row {
  readonly kind: Kind;
  readonly speed: SpeedKind;
  readonly isLocal: boolean;
  readonly errors: readonly number[];
  /** The errors of a steady speed. */
  readonly changes: readonly number[];
  readonly held: readonly boolean[];
}

/** A measurement with the logarithm of the true speed. */
interface Known extends TimedMeasurement {
  readonly truth: number;
}

/** Returns the measurements of a search on a machine of that kind. */
async function search(
  problem: BudgetedProblem,
  { name, seed }: Task,
  kind: SpeedKind,
  isLocal: boolean,
): Promise<Known[]> {
  const speed = machineSpeed(kind, 100 * seed + Number(/\d+(?=\D*$)/.exec(name)?.[0] ?? 0));
  const world = { seed, statistics: true, speed, isLocal };
  const { made } = await contest(problem, (...of) => makeSampler('queueing', ...of), MEASUREMENTS, world);
  return made.map(({ candidate, measurement, seconds, speed }) => {
    return { candidate, measurement, atSeconds: seconds, truth: Math.log(speed) };
  });
}

function judge(made: readonly Known[]): Pick<Row, 'errors' | 'changes' | 'held'> {
  const counts = Array.from({ length: made.length }, (_, index) => index + 1);
  const judged = counts
    .filter((count) => count >= FIRST && (count - FIRST) % 2 === 0)
    .flatMap((count) => {
      const part = made.slice(0, count);
      const { of } = fitSpeeds(part);
      const beginSeconds = (part[0]?.atSeconds ?? 0) + FIRST_SECONDS;
      const reference = mean(part.filter(({ atSeconds }) => atSeconds <= beginSeconds).map(({ truth }) => truth));
      return part.map(({ measurement, truth }) => {
        const change = truth - reference;
        const { value, low, high } = of(measurement);
        const isHeld = Math.log(low) <= change && change <= Math.log(high);
        return { error: Math.log(value) - change, change, isHeld };
      });
    });
  return {
    errors: judged.map(({ error }) => error),
    changes: judged.map(({ change }) => change),
    held: judged.map(({ isHeld }) => isHeld),
  };
}

async function work(tasks: readonly Task[]): Promise<void> {
  for (const task of tasks) {
    const testProblem = openProblem(task);
    for (const speed of speedKinds) {
      const problems = listBudgetedProblems(testProblem, slowestSpeed[speed]);
      const problem = problems.find(({ tightness }) => tightness === 'middle') ?? problems[0];
      if (!problem) continue;
      for (const isLocal of [false, true]) {
        const judged = judge(await search(problem, task, speed, isLocal));
        parentPort?.postMessage({ kind: task.kind, speed, isLocal, ...judged } satisfies Row);
      }
    }
  }
}

const rootMeanSquare = (values: readonly number[]): number => Math.sqrt(mean(values.map((value) => value ** 2)));
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}`);
  console.log(
    '| machine | server | error | error of a steady speed | off by more than a tenth | intervals that hold |',
  );
  console.log('|---|---|---|---|---|---|');
  for (const speed of speedKinds) {
    for (const isLocal of [false, true]) {
      const some = rows.filter((row) => row.speed === speed && row.isLocal === isLocal);
      const errors = some.flatMap((row) => row.errors);
      if (errors.length === 0) continue;
      const cells = [
        speed,
        isLocal ? 'on this host' : 'elsewhere',
        percent(rootMeanSquare(errors)),
        percent(rootMeanSquare(some.flatMap(({ changes }) => changes))),
        percent(mean(errors.map((error) => (Math.abs(error) > LARGE ? 1 : 0)))),
        percent(mean(some.flatMap(({ held }) => held.map(Number)))),
      ];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
}

if (isMainThread) {
  const rows: Row[] = [];
  await playOnThreads<Task, Row>(import.meta.url, listTasks(options), Number(options.threads), (row) => rows.push(row));
  for (const [kind, title] of Object.entries(KINDS)) {
    const ofKind = rows.filter((row) => row.kind === kind);
    if (ofKind.length > 0) print(title, ofKind);
  }
} else {
  await work(workerData as Task[]);
}
