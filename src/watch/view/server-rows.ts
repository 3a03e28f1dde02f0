import { formatMs, formatRate, plainLine } from '#base/format.ts';
import type { Work } from '#fleet/study/work.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment, describeLevel } from '#study/summary/describe.ts';
import type { Watched } from './watched.ts';
import { AT_WORK, type WorkMoment } from './work-moment.ts';

/** The activity of one server. */
export interface ServerRow {
  readonly server: string;
  readonly state: WorkMoment['state'] | 'idle' | 'getting ready' | 'away' | 'left' | 'back as it was' | 'not as it was';
  /** `trial 12`, `the original`, `final: trial 3`; '' for nothing. */
  readonly what: string;
  readonly config: string;
  readonly level: string;
  /** The figures of the last window; '' before it. */
  readonly figures: string;
  /** infer/s of the seen windows of this measurement, in order. */
  readonly windows: readonly number[];
  /** The speed relative to the first server, such as `0.93×`; '' for the first, and if unknown. */
  readonly speed: string;
  /** The number of search trials that it has finished. */
  readonly done: number;
  /** Why it left, or its fault; '' for nothing. */
  readonly note: string;
}

const NOTHING = { what: '', config: '', level: '', figures: '', windows: [], note: '' } as const;

/**
 * Returns a row for each server of the study, by name. A study of one machine has one row while it
 * is under way.
 */
export function serverRows(watched: Watched): readonly ServerRow[] {
  const { state, progress, head } = watched;
  const running = new Map(progress?.running.map((work) => [work.server, work] as const));
  const known = state?.servers ?? [];
  const names = [...new Set([...known.map(({ name }) => name), ...(progress?.held ?? []), ...running.keys()])].sort();
  if (names.length === 0) return head.status === 'under way' && state ? onlyServer(state) : [];
  return names.map((server) => {
    const row = { server, speed: speedText(state, server), done: doneOn(watched, server) };
    const restored = state?.restored?.servers?.find((each) => each.server === server);
    if (restored) {
      const word = restored.verified ? 'back as it was' : 'not as it was';
      return { ...NOTHING, ...row, state: word, note: restored.verified ? '' : plainLine(restored.detail) };
    }
    const work = running.get(server);
    if (work) return { ...row, ...workRow(watched, work) };
    const left = known.find(({ name }) => name === server)?.left ?? null;
    if (left !== null) return { ...NOTHING, ...row, state: 'left', note: plainLine(left) };
    return { ...NOTHING, ...row, state: waitingState(watched, server) };
  });
}

function waitingState({ progress }: Watched, server: string): ServerRow['state'] {
  if (progress?.idle.includes(server)) return 'idle';
  return progress?.joining?.includes(server) ? 'getting ready' : 'away';
}

function workRow({ state, moments }: Watched, work: Work): Omit<ServerRow, 'server' | 'speed' | 'done'> {
  const moment = moments.get(work.id) ?? AT_WORK;
  const last = moment.windows.at(-1);
  const percentile = state?.goal.budget?.percentile ?? 99;
  return {
    state: moment.state,
    what: formatName(work),
    config: describeAssignment(work.assignment),
    level: moment.level ? describeLevel(moment.level) : '',
    figures: last
      ? `window ${last.window}: ${formatRate(last.throughput)}, p${percentile} ${formatMs(last.latencyMs)}`
      : '',
    windows: moment.windows.map(({ throughput }) => throughput),
    note: work.attempt > 1 && work.kind === 'trial' ? `attempt ${work.attempt}` : '',
  };
}

function formatName({ kind, trial }: Work): string {
  const name = trial === 0 ? 'the original' : `trial ${trial}`;
  return kind === 'final' ? `final: ${name}` : name;
}

/** A journal says which trial is under way, but nothing about the current moment. */
function onlyServer({ server, unfinished, trials, finals }: StudyState): readonly ServerRow[] {
  const row = { ...NOTHING, server: plainLine(server.url), speed: '', done: searched(trials).length };
  if (!unfinished)
    return [finals.length > 0 ? { ...row, state: 'at work', what: 'the final' } : { ...row, state: 'idle' }];
  const last = unfinished.measurements.at(-1);
  return [
    {
      ...row,
      state: 'at work',
      what: unfinished.number === 0 ? 'the original' : `trial ${unfinished.number}`,
      config: describeAssignment(unfinished.candidate.assignment),
      level: last ? `after ${describeLevel(last.level)}` : '',
      figures: last ? formatRate(last.throughput.value) : '',
    },
  ];
}

const searched = (trials: StudyState['trials']) => trials.filter(({ role }) => role === 'search');

const doneOn = ({ state, serverByTrial }: Watched, server: string): number =>
  searched(state?.trials ?? []).filter(({ number }) => serverByTrial.get(number) === server).length;

function speedText(state: StudyState | null, server: string): string {
  const [first, ...others] = state?.speeds.servers ?? [];
  const other = others.find((each) => each.server === server);
  return other && first ? `${other.times.value.toFixed(2)}×` : '';
}
