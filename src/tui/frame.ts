import type { Abilities } from './commands.ts';
import type { Interaction } from './interaction.ts';
import { chartPanel } from './panels/chart.ts';
import { footRows, helpPanel } from './panels/foot.ts';
import { handPanel } from './panels/hand.ts';
import { progressRows } from './panels/progress.ts';
import { spacePanel } from './panels/space.ts';
import { costRows, noiseRows, speedRows, standingRows, steeredRows } from './panels/standing.ts';
import { titleRows } from './panels/title.ts';
import { trialPanel } from './panels/trial.ts';
import { trialsPanel } from './panels/trials.ts';
import { whyRows } from './panels/why.ts';
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
/** Below this height, a list of keys or parameters replaces the rows about the state of the search. */
const TALL = 32;
/** The minimum number of rows for the table and the chart. */
const LEAST_BODY = 12;
const GAP = 2;

/** Returns the whole screen, exactly at its size. */
export function frame(scene: Scene, size: Size): readonly Row[] {
  if (size.columns < SMALLEST.columns || size.rows < SMALLEST.rows) return tooSmall(scene, size);
  const { view, interaction, abilities, notice, elapsedSeconds } = scene;
  const standing = [standingRows, costRows, workloadRows, noiseRows, speedRows, steeredRows].flatMap((rowsOf) =>
    rowsOf(view, size.columns),
  );
  const head = [
    ...titleRows(view, size.columns),
    ...progressRows(view, elapsedSeconds, size.columns),
    ...(size.rows < TALL && isList(interaction) ? [] : standing),
  ];
  const foot = footRows(view, interaction, abilities, notice, size.columns);
  const left = size.rows - head.length - foot.length;
  const why = interaction.page === 'overview' ? whyRows(view, size.columns, left - LEAST_BODY) : [];
  const body = { columns: size.columns, rows: left - why.length };
  return block([...head, ...why, ...bodyRows(scene, body), ...foot], size);
}

const isList = ({ page, question }: Interaction): boolean =>
  page === 'help' || question?.kind === 'space' || question?.kind === 'hand';

function bodyRows({ view, interaction, abilities }: Scene, size: Size): readonly Row[] {
  const { question } = interaction;
  if (view.study && question?.kind === 'space') return spacePanel(view.study, question, size);
  if (view.study && question?.kind === 'hand') return handPanel(view.study, question, size);
  if (interaction.page === 'help') return helpPanel(view, interaction, abilities, size);
  if (interaction.page === 'trial') return trialPanel(view, interaction, size);
  if (size.columns < WIDE) return narrowBody(view, interaction, size);
  const leftColumns = Math.floor(size.columns * 0.55);
  const leftRows = { columns: leftColumns, rows: size.rows };
  const chartRows = Math.max(10, Math.floor(size.rows * 0.5));
  const left = [
    ...chartPanel(view, interaction, { ...leftRows, rows: chartRows }),
    ...trialsPanel(view, interaction, { ...leftRows, rows: size.rows - chartRows }),
  ];
  return beside(
    left,
    trialPanel(view, interaction, { columns: size.columns - leftColumns - GAP, rows: size.rows }),
    GAP,
  );
}

function narrowBody(view: ViewState, interaction: Interaction, size: Size): readonly Row[] {
  const table = Math.floor(size.columns * 0.6);
  return beside(
    trialsPanel(view, interaction, { columns: table, rows: size.rows }),
    chartPanel(view, interaction, { columns: size.columns - table - GAP, rows: size.rows }),
    GAP,
  );
}

function tooSmall({ view, elapsedSeconds }: Scene, size: Size): readonly Row[] {
  const lines = [
    row(`window too small: ${SMALLEST.columns}×${SMALLEST.rows} needed`),
    ...progressRows(view, elapsedSeconds, size.columns),
  ];
  return block(
    lines.map((line) => fitted(line, size.columns)),
    size,
  );
}
