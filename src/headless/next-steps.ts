import { basename, dirname, join } from 'node:path';
import { commandName, formatCommandLine } from '#base/command-name.ts';
import { typedLine } from '#base/shell-words.ts';
import { describeTooManyFailed } from '#profiler/failed-requests.ts';
import { TRITON } from '#space/model-configs.ts';
import { frontLevels } from '#space/topology.ts';
import { allowedErrorRate } from '#study/goal/goal.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { doctorCommand, loadCommand, profileCommand, resumeCommand } from './next-commands.ts';

/**
 * What a run leaves: how it began, and the paths of its documents; absent or null if not written.
 */
export interface EndedRun {
  readonly started: StudyStarted;
  /** The files of the best candidate, relative to the directory `best`. */
  readonly emitted: readonly string[];
  readonly summary: string;
  readonly report: string | null;
}

/**
 * Returns what to do after a run, one step per line. Each ends with a command that works as it
 * stands, or is a sentence.
 */
export function nextSteps(summary: Summary, run: EndedRun): readonly string[] {
  const look = run.report !== null && summary.best ? [`look at it: open ${run.report} in a browser`] : [];
  if (summary.interrupted) return [...look, `go on with it: ${resumeCommand(run.summary)}`];
  switch (summary.verdict) {
    case 'not-measured': {
      const doctor = doctorCommand(run.started);
      return doctor === null ? [] : [`find out why: ${doctor}`];
    }
    case 'infeasible':
      return [...look, looserStep(summary), ...elsewhere(summary)];
    case 'unconfirmed':
      return [
        ...look,
        `confirm the gain: ${resumeCommand(run.summary, '--time-budget', '10m')}`,
        ...(summary.emulated === null ? keep(summary, run) : elsewhere(summary)),
      ];
    case 'better':
      return [...look, ...(summary.emulated === null ? keep(summary, run) : elsewhere(summary)), ...gate(summary, run)];
    case 'nothing-better':
      return [...look, ...elsewhere(summary), ...gate(summary, run)];
  }
}

/** Returns what to change if nothing met the goal. */
const looserStep = ({ best, constraints }: Summary): string =>
  best && describeTooManyFailed(best, allowedErrorRate(constraints))
    ? "find out from the server's log why requests fail, or allow it, such as with --constraint 'error-rate<=5%'"
    : 'allow a higher latency, or search longer (--time-budget, --max-trials)';

const elsewhere = ({ emulated }: Summary): readonly string[] =>
  emulated === null ? [] : [`tune a model of your server, step by step: ${commandName()}`];

/** Returns how to serve the best config from now on. */
function keep({ best: point }: Summary, { started, emitted, summary }: EndedRun): readonly string[] {
  const [best, { server }, models] = [join(dirname(summary), 'best'), started.spec, point?.models ?? {}];
  if (emitted.length === 0) return [];
  if (started.adapter !== TRITON)
    return emitted.includes('launch.sh')
      ? [`serve it: ${typedLine(['sh', join(best, 'launch.sh')])}`]
      : [`keep it: give your server the settings in ${join(best, 'settings.json')}`];
  const folders = [...new Set(emitted.map((path) => dirname(path).split('/')[0] as string))];
  const repository = server.launch === 'local' || server.launch === 'docker' ? server.modelRepository : undefined;
  if (repository !== undefined) return [`keep it: ${typedLine(['cp', '-r', `${best}/.`, repository])}`];
  const what = folders.length === 1 ? `the folder ${join(best, folders[0] as string)}` : `the folders in ${best}`;
  const copy = `keep it: copy ${what} into the server's model repository`;
  // A loaded config has no files of a variant.
  const isWhole = emitted.every((path) => basename(path) === 'config.pbtxt');
  // A folder has another name than its model if that is no safe path.
  const isNamed = folders.every((folder) => folder === started.model || folder in models);
  if (!isWhole || !isNamed || server.launch !== undefined) return [copy];
  const load = loadCommand(started);
  const commands = folders.map((model) => load(join(best, model, 'config.pbtxt'), model));
  return [copy, `or only until the server restarts: ${commands.join(' && ')}`];
}

/** Returns how to notice when a later version is slower: a baseline, and the comparison with it. */
function gate({ best }: Summary, { started }: EndedRun): readonly string[] {
  if (best === null || (started.adapter !== TRITON && started.spec.server.launchCommand === undefined)) return [];
  const { topology } = started;
  const levels = topology ? frontLevels(topology, best.load) : [best.load];
  const fronts = topology?.fronts.map(({ model }) => model) ?? [started.model];
  const pairs = fronts.flatMap((model, index) => {
    const prefix = fronts.length === 1 ? '' : `${model}-`;
    const files = [`${prefix}baseline.json`, `${prefix}run.json`] as const;
    const [before, after] = files.map((file) => profileCommand(started, model, levels[index] ?? best.load, file));
    return before && after ? [{ before, after: `${after} && ${formatCommandLine(['compare', ...files])}` }] : [];
  });
  if (pairs.length === 0) return [];
  const all = (side: 'before' | 'after'): string => pairs.map((pair) => pair[side]).join(' && ');
  return [`baseline for CI: ${all('before')}`, `in each build: ${all('after')}`];
}
