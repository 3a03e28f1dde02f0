import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { ClassLimits, Mix, RateArrivals, WorkloadClass } from './workload.ts';
import { schemaFault, type WorkloadPlace, workloadFault } from './workload-fault.ts';
import { type PhaseFile, type TraceFileArrivals, type WorkloadFile, workloadFile } from './workload-schema.ts';

/** A phase with known arrivals, or with a trace that is still to be read. */
export interface CheckedPhase {
  readonly name: string | null;
  readonly durationS: number | null;
  readonly arrivals: RateArrivals | TraceFileArrivals;
  readonly mix: Mix;
}

/** A workload file in valid form. */
export interface CheckedWorkload {
  readonly file: WorkloadFile;
  readonly classes: readonly WorkloadClass[];
  readonly phases: readonly CheckedPhase[];
}

/**
 * Checks the form of a workload file, including what the schema cannot express. Errors:
 * INPUT_INVALID with the path of the fault and what to write.
 */
export function checkWorkload(value: unknown, place: WorkloadPlace): CheckedWorkload {
  const outcome = workloadFile.safeParse(value);
  if (!outcome.success) throw schemaFault(place, outcome.error, value);
  const file = outcome.data;
  const classes = Object.entries(file.classes ?? { default: { weight: 1 } }).map(([name, fields]) =>
    toClass(name, fields),
  );
  const phases = file.phases.map((phase, index) => checkPhase(phase, ['phases', index], classes, place));
  return { file, classes, phases };
}

function toClass(name: string, fields: NonNullable<WorkloadFile['classes']>[string]): WorkloadClass {
  const { limitMs, ttftMs, itlMs, tpotMs, ...rest } = fields;
  const ms = { ttftNs: ttftMs, itlNs: itlMs, tpotNs: tpotMs, e2eNs: limitMs };
  const known = Object.entries(ms).flatMap(([field, limit]) =>
    limit === undefined ? [] : [[field, limit * NS_PER_MS]],
  );
  return { name, ...rest, limits: Object.fromEntries(known) as ClassLimits };
}

type Path = readonly PropertyKey[];

function checkPhase(
  phase: PhaseFile,
  path: Path,
  classes: readonly WorkloadClass[],
  place: WorkloadPlace,
): CheckedPhase {
  const { arrivals, weights } = phase;
  const [name, durationS] = [phase.name ?? null, phase.durationS ?? null];
  const isTrace = arrivals.process === 'trace';
  if (isTrace) checkTrace(arrivals, weights !== undefined, path, place);
  const hasClasses = isTrace && (arrivals.classColumn ?? arrivals.classOf) !== undefined;
  const mix = toMix(weights, classes, path, place, hasClasses);
  if (isTrace) return { name, durationS, arrivals, mix };
  if (durationS === null) {
    throw workloadFault(place, [...path, 'durationS'], 'it is missing', 'write the seconds that the phase lasts');
  }
  return { name, durationS, arrivals: rateArrivals(arrivals, durationS), mix };
}

function rateArrivals(arrivals: Exclude<PhaseFile['arrivals'], TraceFileArrivals>, durationS: number): RateArrivals {
  switch (arrivals.process) {
    case 'constant':
      return { ...arrivals, cv: 0 };
    case 'poisson':
      return { ...arrivals, cv: 1 };
    case 'diurnal':
      return { ...arrivals, peakAtS: arrivals.peakAtS ?? Math.min(durationS, arrivals.periodS) / 2 };
    default:
      return arrivals;
  }
}

function checkTrace(trace: TraceFileArrivals, hasWeights: boolean, path: Path, place: WorkloadPlace): void {
  const { file, atS, classOf, classColumn, column, unit } = trace;
  const at = [...path, 'arrivals'];
  if ((file === undefined) === (atS === undefined)) {
    throw workloadFault(
      place,
      at,
      'a trace needs either a file or a list of times',
      'write file: PATH, or atS: [0, 0.5, …]',
    );
  }
  if (classOf !== undefined && classOf.length !== atS?.length) {
    throw workloadFault(
      place,
      [...at, 'classOf'],
      'it has another length than atS',
      'write one class for each time in atS',
    );
  }
  if (atS !== undefined && (classColumn ?? column ?? unit) !== undefined) {
    throw workloadFault(
      place,
      at,
      'column, classColumn and unit apply to files only',
      'leave them out, or use file instead of atS',
    );
  }
  if (hasWeights && (classColumn ?? classOf) !== undefined) {
    throw workloadFault(
      place,
      [...path, 'weights'],
      'the trace already has the class of each request',
      'leave out weights, or the classes of the trace',
    );
  }
}

function toMix(
  weights: PhaseFile['weights'],
  classes: readonly WorkloadClass[],
  path: Path,
  place: WorkloadPlace,
  mayBeEmpty: boolean,
): Mix {
  const at = [...path, 'weights'];
  const listWeights = (weights: Readonly<Record<string, number>>, where: Path): readonly number[] => {
    const names = classes.map(({ name }) => name);
    const unknown = Object.keys(weights).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const what = `there is no class '${unknown}'${didYouMean(unknown, names)}`;
      throw workloadFault(
        place,
        [...where, unknown],
        what,
        `write one of ${names.join(', ')}, or name it under classes`,
      );
    }
    const list = names.map((name) => lookUp(weights, name) ?? 0);
    if (mayBeEmpty || list.some((weight) => weight > 0)) return list;
    throw workloadFault(place, where, 'no class has a weight', 'give at least one class a weight above 0');
  };
  const ownWeights = Object.fromEntries(classes.map(({ name, weight }) => [name, weight]));
  if (weights === undefined) {
    const list = listWeights(ownWeights, classes.length > 1 ? ['classes'] : path);
    return { from: list, to: list };
  }
  if (isShift(weights))
    return { from: listWeights(weights.from, [...at, 'from']), to: listWeights(weights.to, [...at, 'to']) };
  const list = listWeights(weights, at);
  return { from: list, to: list };
}

type Weights = Readonly<Record<string, number>>;

const isShift = (weights: NonNullable<PhaseFile['weights']>): weights is { from: Weights; to: Weights } =>
  typeof weights.from === 'object' && typeof weights.to === 'object';
