import { Document, isMap, isSeq, type Node } from 'yaml';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { Phase, TraceArrivals, Workload, WorkloadClass } from './workload.ts';
import type { WorkloadFileInput } from './workload-schema.ts';

/** A file that a workload names. */
export interface PrintedTrace {
  readonly name: string;
  readonly arrivals: TraceArrivals;
}

/** A workload as text, and its traces. */
export interface PrintedWorkload {
  readonly yaml: string;
  readonly traces: readonly PrintedTrace[];
}

/**
 * Prints a workload as a file that reads back to it, one line per class and phase, under the
 * comment. Traces get their own files next to it, named by `traceName`; `pathTo` maps the paths of
 * data files to those in the file.
 */
export function printWorkload(
  workload: Workload,
  comment: string,
  traceName: (phase: number) => string,
  pathTo: (path: string) => string,
): PrintedWorkload {
  const { name, classes, phases, sessions } = workload;
  const traces = phases.flatMap(({ arrivals }, index) =>
    arrivals.process === 'trace' ? [{ name: traceName(index), arrivals }] : [],
  );
  const content: WorkloadFileInput = {
    workloadVersion: 1,
    name,
    classes: Object.fromEntries(classes.map((each) => [each.name, classFile(each, pathTo)])),
    phases: phases.map((phase, index) => phaseFile(phase, classes, traceName(index))),
    ...(sessions && { sessions: { ...sessions } as WorkloadFileInput['sessions'] }),
  };
  return { yaml: formatYaml(content, comment), traces };
}

type ClassFile = NonNullable<WorkloadFileInput['classes']>[string];

function classFile(
  { weight, limits, requests, prompts, model, endpoint }: WorkloadClass,
  pathTo: (path: string) => string,
): ClassFile {
  const { e2eNs, ttftNs, itlNs, tpotNs } = limits;
  const ms = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / NS_PER_MS);
  const inputData = requests?.inputData?.map((path) => (path === 'zero' || path === 'random' ? path : pathTo(path)));
  return withoutUndefined({
    weight,
    limitMs: ms(e2eNs),
    ttftMs: ms(ttftNs),
    itlMs: ms(itlNs),
    tpotMs: ms(tpotNs),
    model,
    endpoint,
    requests: requests && withoutUndefined({ ...requests, inputData }),
    prompts: prompts && withoutUndefined({ ...prompts, promptFile: prompts.promptFile && pathTo(prompts.promptFile) }),
  });
}

function phaseFile(
  { name, durationS, arrivals, mix }: Phase,
  classes: readonly WorkloadClass[],
  traceName: string,
): WorkloadFileInput['phases'][number] {
  const toWeights = (list: readonly number[]): Record<string, number> =>
    Object.fromEntries(
      classes.flatMap((each, index) => ((list[index] as number) > 0 ? [[each.name, list[index] as number]] : [])),
    );
  const isSame = (list: readonly number[]): boolean => classes.every(({ weight }, index) => weight === list[index]);
  const isShift = mix.from.some((weight, index) => weight !== mix.to[index]);
  const ownMix = isShift ? { from: toWeights(mix.from), to: toWeights(mix.to) } : toWeights(mix.from);
  const hasOwnClasses = arrivals.process === 'trace' && arrivals.classOf !== null;
  return withoutUndefined({
    name: name ?? undefined,
    durationS,
    arrivals: arrivals.process === 'trace' ? traceFile(arrivals, traceName) : rateFile(arrivals),
    weights: hasOwnClasses || classes.length === 1 || (isSame(mix.from) && !isShift) ? undefined : ownMix,
  });
}

type ArrivalsFile = WorkloadFileInput['phases'][number]['arrivals'];

const traceFile = ({ classOf, resolutionNs }: TraceArrivals, file: string): ArrivalsFile =>
  withoutUndefined({
    process: 'trace' as const,
    file,
    classColumn: classOf === null ? undefined : CLASS_COLUMN,
    resolutionS: resolutionNs === 0 ? undefined : resolutionNs / NS_PER_S,
  });

function rateFile(arrivals: Exclude<Phase['arrivals'], TraceArrivals>): ArrivalsFile {
  if (arrivals.process !== 'constant' && arrivals.process !== 'poisson') return arrivals as ArrivalsFile;
  return { process: arrivals.process, perSecond: arrivals.perSecond };
}

const withoutUndefined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;

/** Writes one line for each class and each phase. */
function formatYaml(content: WorkloadFileInput, comment: string): string {
  const document = new Document(content, { aliasDuplicateObjects: false });
  document.commentBefore = comment
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n');
  for (const key of ['classes', 'phases', 'sessions']) {
    const node = document.get(key);
    const inner = isMap(node) ? node.items.map(({ value }) => value) : isSeq(node) ? node.items : [];
    for (const each of inner) if (isMap(each)) (each as Node & { flow?: boolean }).flow = true;
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

const TIME_COLUMN = 'time';
const CLASS_COLUMN = 'class';
/** Lines of one piece of text. */
const PIECE_LINES = 50_000;

/**
 * The lines of a trace's file, CSV with seconds since the start and, where it says it, the class;
 * many in each piece.
 */
export function* traceText({ timesNs, classOf }: TraceArrivals, classes: readonly WorkloadClass[]): Generator<string> {
  const names = classes.map(({ name }) => (/[",\s]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  yield classOf === null ? `${TIME_COLUMN}\n` : `${TIME_COLUMN},${CLASS_COLUMN}\n`;
  for (let start = 0; start < timesNs.length; start += PIECE_LINES) {
    const lines = Array.from(timesNs.subarray(start, start + PIECE_LINES), (timeNs, index) => {
      const second = (timeNs / NS_PER_S).toFixed(6).replace(/\.?0+$/, '');
      return classOf === null ? second : `${second},${names[classOf[start + index] as number]}`;
    });
    yield `${lines.join('\n')}\n`;
  }
}
