import { wrapped } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { clientChanges } from '#space/client-changes.ts';
import { listDifferences } from '#space/differences.ts';
import { isInDoubt, representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { agentsOver, describeAgents } from '#study/summary/agent-words.ts';
import { describeClientChange } from '#study/summary/client-words.ts';
import { goalText } from '#study/summary/goal-words.ts';
import { findNoiseFloor } from '#study/summary/noise-floor.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import { type Interaction, selectedTrial } from '../interaction.ts';
import { beside, block, foreign, heading, left, type Row, row, type Size, span } from '../rows.ts';
import type { ViewState } from '../state.ts';
import { comparisonRows, formatName } from './comparison.ts';
import { batchRows, breakdownRows, levelRows, normalisedRows, predictionRows } from './measurements.ts';
import { goalMetricRows, otherMetricSections } from './metric-rows.ts';
import { frontRows, stageRows } from './stages.ts';
import { tokenRows } from './token-rows.ts';
import { workloadSection } from './workloads.ts';

const MAX_DIFFERENCES = 8;

/** From this width on, a trial longer than the panel continues in a second column. */
const TWO_COLUMNS = 76;
const GAP = 2;

/**
 * Returns one trial: its config compared with the original or a marked one, its levels, the split
 * of its latency, its batches, the device.
 */
export function trialPanel(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const trial = selectedTrial(interaction, view);
  if (!trial) return block([heading('Trial', size.columns), row('  none yet', 'muted')], size);
  const name = trial.role === 'baseline' ? 'The original' : `Trial ${trial.number}`;
  const title = heading(name, size.columns, describeState(view, trial));
  const room = size.rows - 1;
  const sections = listSections(view, trial, interaction.marked, size.columns);
  if (size.columns < TWO_COLUMNS || sections.flat().length <= room)
    return block([title, ...fitting(sections, room)], size);
  const columns = Math.floor((size.columns - GAP) / 2);
  const narrow = listSections(view, trial, interaction.marked, columns);
  const [first, second] = halves(narrow, room).map((half) => block(fitting(half, room), { columns, rows: room }));
  return block([title, ...beside(first ?? [], second ?? [], GAP)], size);
}

function describeState({ study }: ViewState, trial: Trial): string {
  if (trial.failure) return 'failed';
  if (study && isInDoubt(study, trial)) return 'meets the goal, but is doubtful';
  return study
    ? goalText(study, trial, representative(study, trial) ?? { measurement: null, feasible: trial.feasible })
    : '';
}

type Section = readonly Row[];

function listSections(view: ViewState, trial: Trial, marked: number | null, width: number): readonly Section[] {
  const { study } = view;
  if (!study) return [];
  const stands = representative(study, trial);
  const other = study.trials.find(({ number }) => number === marked && number !== trial.number) ?? null;
  const config = [...failureRows(trial, width), ...differenceRows(study, trial, other, width)];
  if (!stands) return [config];
  const { measurement } = stands;
  return [
    config,
    other ? comparisonRows(study, other, trial, width) : [],
    trial.number === study.best?.number ? predictionRows(view.predicted, chooseRateUnit(measurement), width) : [],
    workloadSection(study, trial.candidate, measurement, width),
    [...levelRows(trial, measurement, width), ...normalisedRows(stands)],
    tokenRows(trial, measurement, width),
    goalMetricRows(study.goal, trial.candidate, measurement, width),
    trial.role === 'baseline' ? restRows(study, width) : [],
    agentRows(trial, measurement, width),
    ...timeSections(study, trial, measurement, width),
    ...otherMetricSections(study.goal, trial.candidate, measurement, width),
  ];
}

/** Returns where the time of a request goes; for several models, a lane for each stage. */
function timeSections(study: StudyState, trial: Trial, measurement: Measurement, width: number): readonly Section[] {
  const { topology } = study.started;
  return topology
    ? [frontRows(measurement, study.goal, width), stageRows(measurement, topology, trial.candidate, width)]
    : [breakdownRows(trial, measurement, width), batchRows(measurement, width)];
}

/** Returns the latency of the original with one request in flight. */
function restRows(study: StudyState, width: number): readonly Row[] {
  const floor = findNoiseFloor(study);
  if (!floor) return [];
  const said = noiseSentence(describeNoise(floor, study.goal.budget));
  return wrapped(`idle ${said}`, width - 2).map((line) => row(`  ${line}`, 'muted'));
}

/** Returns the agents that sent the trial's load; no row if this machine sent it. */
function agentRows({ measurements }: Trial, stands: Measurement, width: number): readonly Row[] {
  const agents = agentsOver(measurements.includes(stands) ? measurements : [...measurements, stands]);
  const tone = agents.some(({ bound }) => bound > 0) ? 'warning' : 'muted';
  return wrapped(foreign(describeAgents(agents)), width - 2).flatMap((line) =>
    line === '' ? [] : [row(`  ${line}`, tone)],
  );
}

/** Returns the rows of the sections that have room for their head and at least one more row. */
function fitting(sections: readonly Section[], room: number): readonly Row[] {
  const rows: Row[] = [];
  for (const section of sections) if (rows.length + Math.min(2, section.length) <= room) rows.push(...section);
  return rows;
}

/** Returns as many whole sections as fit, and the rest. */
function halves(sections: readonly Section[], room: number): readonly (readonly Section[])[] {
  let used = 0;
  const cut = sections.findIndex((section) => {
    used += section.length;
    return used > room;
  });
  return [sections.slice(0, Math.max(1, cut)), sections.slice(Math.max(1, cut))];
}

function failureRows({ failure }: Trial, width: number): readonly Row[] {
  if (!failure) return [];
  return wrapped(foreign(`${failure.kind}: ${failure.reason}`), width - 2).map((line) => row(`  ${line}`, 'bad'));
}

function differenceRows(study: StudyState, trial: Trial, other: Trial | null, width: number): readonly Row[] {
  const differences = listDifferences(other?.candidate ?? study.started.original, trial.candidate);
  const against = other ? formatName(other) : 'the original';
  if (differences.length === 0) return trial.role === 'baseline' ? [] : [row(`  same config as ${against}`, 'muted')];
  const longest = Math.max(...differences.map(({ path }) => path.length));
  const fieldWidth = Math.min(longest, Math.max(12, width - 20));
  const lines = differences.slice(0, MAX_DIFFERENCES).map(({ path, before, after }): Row => {
    const field = cutPath(foreign(path), fieldWidth);
    return [span(`  ${field} `), span(valueText(before), 'muted'), span(' → '), span(valueText(after), 'strong')];
  });
  const more = differences.length - lines.length;
  return [
    row(`  config, against ${against}`, 'muted'),
    ...lines,
    ...(more > 0 ? [row(`  and ${more} more`, 'muted')] : []),
    ...brokenRows(study, trial, width),
  ];
}

/**
 * Returns what clients of the original config can no longer send or get, whatever the config is
 * compared with.
 */
const brokenRows = ({ started }: StudyState, { candidate }: Trial, width: number): readonly Row[] =>
  clientChanges(started.original, candidate)
    .filter((change) => change.breaks)
    .flatMap((change) => wrapped(foreign(describeClientChange(change, started.model)), width - 2))
    .map((line) => row(`  ${line}`, 'bad'));

/**
 * Returns the end of a path, which says more than its beginning, but keeps the model's name, if
 * any.
 */
function cutPath(path: string, width: number): string {
  if (path.length <= width) return path.padEnd(width);
  const colon = path.indexOf(': ');
  if (colon < 0) return `…${path.slice(1 - width)}`;
  const model = left(path.slice(0, colon), Math.min(colon, Math.floor(width * 0.4)));
  return `${model} …${path.slice(2 + model.length - width)}`;
}

const valueText = (value: unknown): string => (value === undefined ? 'none' : foreign(JSON.stringify(value), 24));
