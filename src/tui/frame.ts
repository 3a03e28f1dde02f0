import type { Abilities } from './commands.ts';
import { type Interaction, selectedTrial } from './interaction.ts';
import { chartPanel } from './panels/chart.ts';
import { footRows, helpPanel } from './panels/foot.ts';
import { handPanel } from './panels/hand.ts';
import { progressRows } from './panels/progress.ts';
import { spacePanel } from './panels/space.ts';
import { costRows, noiseRows, speedRows, standingRows, steeredRows } from './panels/standing.ts';
import { titleRows } from './panels/title.ts';
import { trialPanel } from './panels/trial.ts';
import { trialsPanel } from './panels/trials.ts';
import { levelRows, whyRows } from './panels/why.ts';
import { workloadRows } from './panels/workloads.ts';
import { beside, block, fitted, type Row, row, type Size } from './rows.ts';
import type { ViewState } from './state.ts';

/** The inputs of a frame. */
export interface Scene {
  readonly view: ViewState;
  readonly interaction: Interaction;
  readonly abilities: Abilities;
  /** The message on the screen, if any. */
  readonly notice: string | null;
  /** Seconds since the study began. */
  readonly elapsedSeconds: number;
}

const SMALLEST: Size = { columns: 60, rows: 16 };
/** From this width on, the selected trial is next to the table and the chart. */
const WIDE = 110;
/**
 * Below this height, a list of keys or parameters, or a trial, replaces the rows about the state of
 * the search.
 */
const TALL = 32;
/** From this height of the body on, a wide screen has room for both charts. */
const BOTH_CHARTS = 44;
/** The rows that a trial needs under the reasons of the best. */
const MIN_TRIAL_ROWS = 8;
const GAP = 2;

/** Returns the whole screen, exactly at its size. */
export function frame(scene: Scene, size: Size): readonly Row[] {
  if (size.columns < SMALLEST.columns || size.rows < SMALLEST.rows) return tooSmall(scene, size);
  const { view, interaction, abilities, notice, elapsedSeconds } = scene;
  const standing = [standingRows, costRows, workloadRows, noiseRows, speedRows, steeredRows].flatMap((listRows) =>
    listRows(view, size.columns),
  );
  const head = [
    ...titleRows(view, size.columns),
    ...progressRows(view, interaction, elapsedSeconds, size.columns),
    ...(size.rows < TALL && !isOverview(interaction) ? [] : standing),
  ];
  const foot = footRows(view, interaction, abilities, notice, size.columns);
  const left = size.rows - head.length - foot.length;
  const level = interaction.page === 'overview' ? levelRows(view, interaction, size.columns) : [];
  const body = { columns: size.columns, rows: left - level.length };
  return block([...head, ...level, ...bodyRows(scene, body), ...foot], size);
}

const isOverview = ({ page, question }: Interaction): boolean =>
  page === 'overview' && question?.kind !== 'space' && question?.kind !== 'hand';

function bodyRows({ view, interaction, abilities }: Scene, size: Size): readonly Row[] {
  const { question } = interaction;
  if (view.study && question?.kind === 'space') return spacePanel(view.study, question, size);
  if (view.study && question?.kind === 'hand') return handPanel(view.study, question, size);
  if (interaction.page === 'help') return helpPanel(view, interaction, abilities, size);
  if (interaction.page === 'trial') return trialPage(view, interaction, size);
  if (size.columns < WIDE) return narrowBody(view, interaction, size);
  const leftColumns = Math.floor(size.columns * 0.55);
  const leftRows = { columns: leftColumns, rows: size.rows };
  const hasBoth = size.rows >= BOTH_CHARTS;
  const chartRows = Math.max(10, Math.floor(size.rows * (hasBoth ? 0.35 : 0.5)));
  const otherRows = hasBoth ? Math.floor(size.rows * 0.25) : 0;
  const other: Interaction = { ...interaction, chart: interaction.chart === 'front' ? 'progress' : 'front' };
  const left = [
    ...chartPanel(view, interaction, { ...leftRows, rows: chartRows }),
    ...(hasBoth ? chartPanel(view, other, { ...leftRows, rows: otherRows }) : []),
    ...trialsPanel(view, interaction, { ...leftRows, rows: size.rows - chartRows - otherRows }),
  ];
  return beside(
    left,
    trialPanel(view, interaction, { columns: size.columns - leftColumns - GAP, rows: size.rows }),
    GAP,
  );
}

/** One trial over the whole width; of the best of a finished run, first why it is the best. */
function trialPage(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const isBest = selectedTrial(interaction, view)?.number === view.study?.best?.number;
  const why = isBest ? whyRows(view, size.columns, size.rows - MIN_TRIAL_ROWS) : [];
  return [...why, ...trialPanel(view, interaction, { ...size, rows: size.rows - why.length })];
}

function narrowBody(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const table = Math.floor(size.columns * 0.6);
  return beside(
    trialsPanel(view, interaction, { columns: table, rows: size.rows }),
    chartPanel(view, interaction, { columns: size.columns - table - GAP, rows: size.rows }),
    GAP,
  );
}

function tooSmall({ view, interaction, elapsedSeconds }: Scene, size: Size): readonly Row[] {
  const lines = [
    row(`window too small: ${SMALLEST.columns}×${SMALLEST.rows} needed`),
    ...progressRows(view, interaction, elapsedSeconds, size.columns),
  ];
  return block(
    lines.map((line) => fitted(line, size.columns)),
    size,
  );
}
