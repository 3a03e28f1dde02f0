import { basename, dirname, extname, resolve } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, pathBelow, readText } from '#base/read-file.ts';
import { NS_PER_S } from '#base/units.ts';
import { readYaml, YamlFault, type YamlText } from '#base/yaml.ts';
import { type CheckedPhase, checkWorkload } from './check-workload.ts';
import { inOrder } from './plan/events.ts';
import { naturalCount } from './plan/rate-curve.ts';
import { type ReadTrace, readTrace } from './read-trace.ts';
import type { Phase, TraceArrivals, Workload, WorkloadClass } from './workload.ts';
import { type WorkloadPlace, workloadFault } from './workload-fault.ts';
import type { TraceFileArrivals } from './workload-schema.ts';

/**
 * Reads a workload file, YAML or JSON, and its traces. Paths in it are relative to it, and are
 * returned as absolute. Errors: INPUT_INVALID with the file, the line and the path of the fault.
 */
export async function readWorkload(path: string): Promise<Workload> {
  const text = await readText(path, fileLimits.workload).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${path}: ${formatMessage(error)}`,
      'give a YAML or JSON file (docs/workloads.md)',
    );
  });
  return parseWorkload(text, path);
}

/** The same for a text that is, or would be, at this path. */
export async function parseWorkload(text: string, path: string): Promise<Workload> {
  const yaml = parseYamlText(text, path);
  const place: WorkloadPlace = { label: path, position: (at) => yaml.toPosition(at) };
  const { file, classes, phases } = checkWorkload(yaml.value, place);
  const folder = dirname(resolve(path));
  const read: Phase[] = [];
  for (const [index, phase] of phases.entries()) read.push(await readPhase(phase, index, { classes, folder, place }));
  if (!read.some((phase) => naturalCount(phase) > 0)) {
    const hint = 'give a rate above 0, or a slice of the trace that has requests';
    throw workloadFault(place, ['phases'], 'it has no requests', hint);
  }
  return {
    name: file.name ?? basename(path, extname(path)),
    classes: classes.map((each) => withPaths(each, folder, place)),
    phases: read,
    sessions: file.sessions ?? null,
  };
}

function parseYamlText(text: string, path: string): YamlText {
  try {
    return readYaml(text, { maxBytes: fileLimits.workload });
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw workloadFault(
      { label: path, position: () => error.position },
      [],
      error.reason,
      'give a YAML or JSON file (docs/workloads.md)',
    );
  }
}

interface Surroundings {
  readonly classes: readonly WorkloadClass[];
  readonly folder: string;
  readonly place: WorkloadPlace;
}

async function readPhase(
  { name, durationS, arrivals, mix }: CheckedPhase,
  index: number,
  { classes, folder, place }: Surroundings,
): Promise<Phase> {
  if (arrivals.process !== 'trace') return { name, durationS: durationS as number, arrivals, mix };
  const names = classes.map((each) => each.name);
  const trace =
    arrivals.file === undefined
      ? inlineTrace(arrivals, names, ['phases', index, 'arrivals'], place)
      : await readTrace(fileIn(folder, arrivals.file, ['phases', index, 'arrivals', 'file'], place), arrivals, names);
  return { name, mix, ...cut(trace, arrivals, durationS) };
}

function inlineTrace(
  { atS = [], classOf }: TraceFileArrivals,
  names: readonly string[],
  path: readonly PropertyKey[],
  place: WorkloadPlace,
): ReadTrace {
  const indexes = classOf?.map((name, index) => {
    const foundIndex = names.indexOf(name);
    if (foundIndex >= 0) return foundIndex;
    const hint = `write one of ${names.join(', ')}, or name it under classes`;
    throw workloadFault(place, [...path, 'classOf', index], `there is no class '${name}'`, hint);
  });
  const timesNs = Float64Array.from(atS, (second) => second * NS_PER_S);
  const sorted = inOrder({ timesNs, classOf: Uint16Array.from(indexes ?? atS.map(() => 0)) });
  return { timesNs: sorted.timesNs, classOf: indexes === undefined ? null : sorted.classOf };
}

/**
 * Returns the part of a trace that counts, from 0 on, and its length: that of its slice or phase,
 * otherwise its span plus one mean gap, so that the gap between its last request and the first of
 * the next pass is like the others.
 */
function cut(
  { timesNs, classOf }: ReadTrace,
  { slice, resolutionS = 0 }: TraceFileArrivals,
  durationS: number | null,
): { readonly durationS: number; readonly arrivals: TraceArrivals } {
  const fromNs = (slice?.fromS ?? 0) * NS_PER_S;
  const lastNs = timesNs.at(-1) as number;
  const spanNs = timesNs.length > 1 ? (lastNs * timesNs.length) / (timesNs.length - 1) : NS_PER_S;
  const wholeNs = slice ? slice.toS * NS_PER_S - fromNs : Math.max(spanNs, lastNs + 1, resolutionS * NS_PER_S);
  const seconds = durationS ?? wholeNs / NS_PER_S;
  const endNs = fromNs + Math.min(wholeNs, seconds * NS_PER_S);
  const [start, end] = [firstAt(timesNs, fromNs), firstAt(timesNs, endNs)];
  return {
    durationS: seconds,
    arrivals: {
      process: 'trace',
      timesNs: timesNs.slice(start, end).map((timeNs) => timeNs - fromNs),
      classOf: classOf?.slice(start, end) ?? null,
      resolutionNs: resolutionS * NS_PER_S,
    },
  };
}

/** Returns the index of the first time at or after this one. */
function firstAt(timesNs: Float64Array, targetNs: number): number {
  let [low, high] = [0, timesNs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timesNs[middle] as number) < targetNs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Errors: INPUT_INVALID for a file outside of the folder: a workload that came from elsewhere could
 * otherwise have any file read.
 */
function fileIn(folder: string, named: string, at: readonly PropertyKey[], place: WorkloadPlace): string {
  const path = pathBelow(folder, named);
  if (path !== undefined) return path;
  throw workloadFault(
    place,
    at,
    `'${named}' lies outside of ${folder}`,
    'put it into the folder of the workload, or below',
  );
}

function withPaths({ requests, prompts, ...rest }: WorkloadClass, folder: string, place: WorkloadPlace): WorkloadClass {
  const resolveFile = (file: string): string =>
    file === 'zero' || file === 'random' ? file : fileIn(folder, file, ['classes', rest.name], place);
  return {
    ...rest,
    ...(requests && {
      requests: { ...requests, ...(requests.inputData && { inputData: requests.inputData.map(resolveFile) }) },
    }),
    ...(prompts && {
      prompts: { ...prompts, ...(prompts.promptFile && { promptFile: resolveFile(prompts.promptFile) }) },
    }),
  };
}
