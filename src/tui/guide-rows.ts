import { formatCommandLine } from '#base/command-name.ts';
import { wrapped } from '#base/format.ts';
import { type Guide, listArguments, listChoices, takesText } from './guide.ts';
import { foreign, heading, inSight, type Row, row, type Size, span } from './rows.ts';

const questions: Readonly<Record<Guide['step'], string>> = {
  server: 'Which server?',
  model: 'Which model?',
  budget: 'Latency budget at p99, in ms? (leave empty for none)',
  plan: 'Start?',
};

/** Returns the screen of the guided start. */
export function guideRows(guide: Guide, size: Size): readonly Row[] {
  const { waiting, cursor } = guide;
  const { choices, below, plan, foot, room } = toParts(guide, size);
  const rows =
    waiting === null
      ? [...listed(choices, cursor, room), ...below, ...page(plan, cursor, room)]
      : [row(`  ${waiting} …`, 'now')];
  return [...headRows(guide, size), ...rows, ...foot];
}

/** Returns how many rows of the plan can scroll out of sight at the top. */
export function mostMoved(guide: Guide, size: Size): number {
  const { plan, room } = toParts(guide, size);
  return plan.length <= room ? 0 : plan.length - room + 1;
}

const headRows = ({ step }: Guide, { columns }: Size): readonly Row[] => [
  heading('tritune: guided start', columns),
  row(''),
  row(`  ${questions[step]}`, 'strong'),
];

interface Parts {
  readonly choices: readonly Row[];
  /** The rows under the choices, where the person types. */
  readonly below: readonly Row[];
  readonly plan: readonly Row[];
  readonly foot: readonly Row[];
  /** The number of rows left for the choices, or for the plan. */
  readonly room: number;
}

function toParts(guide: Guide, size: Size): Parts {
  const { fault, text } = guide;
  const { columns } = size;
  const command = formatCommandLine(listArguments(guide));
  const choices = listChoices(guide).map((choice, index): Row => {
    const isChosen = index === guide.cursor && text === '';
    return row(`  ${isChosen ? '›' : ' '} ${foreign(choice)}`, isChosen ? 'strong' : undefined);
  });
  const input: readonly Row[] = takesText(guide)
    ? [[span('  > ', 'accent'), span(foreign(text), 'strong'), span('_')]]
    : [];
  const hint = guide.step === 'server' ? hintRows(guide, columns) : [];
  const below = [...hint, ...input];
  const plan = guide.plan.flatMap((line) => indented(line, columns));
  const foot: readonly Row[] = [
    ...(fault === null ? [row('')] : wrapped(foreign(fault), columns - 4).map((part) => row(`  ${part}`, 'bad'))),
    row('  command:', 'muted'),
    ...wrapped(foreign(command, 1000), columns - 4).map((part) => row(`  ${part}`, 'accent')),
    row(`  ${listKeys(guide).join('  ')}`, 'muted'),
  ];
  const room = Math.max(1, size.rows - headRows(guide, size).length - foot.length - below.length);
  return { choices, below, plan, foot, room };
}

/** Returns the choices that fit, around the selected one. */
function listed(choices: readonly Row[], at: number, room: number): readonly Row[] {
  if (choices.length <= room) return choices;
  return [...inSight(choices, at, room - 1), row(`  … ${at + 1} of ${choices.length}`, 'muted')];
}

/** Wraps the line to as many rows as it needs, each indented like the first. */
function indented(line: string, columns: number): readonly Row[] {
  const indent = ' '.repeat(2 + line.length - line.trimStart().length);
  return wrapped(foreign(line, 2000), columns - indent.length - 2).map((part) => row(`${indent}${part}`));
}

/** Returns a page of rows from the first one on. The last row says how many are left out. */
function page(rows: readonly Row[], first: number, room: number): readonly Row[] {
  if (rows.length <= room) return rows;
  const at = Math.min(first, rows.length - room + 1);
  const below = rows.length - at - room + 1;
  const more = below > 0 ? `… ${below} more, press ↓` : '… the end, press ↑ to go back';
  return [...rows.slice(at, at + room - 1), row(`  ${more}`, 'muted')];
}

function listKeys(guide: Guide): readonly string[] {
  const choose = listChoices(guide).length > 1 ? ['↑ ↓ choose'] : [];
  const leave = guide.step === 'server' ? 'Esc leave' : 'Esc back';
  const next = guide.step === 'plan' ? 'Enter start' : 'Enter accept';
  return [...(guide.waiting === null ? [next, ...choose] : []), leave, 'Ctrl+C leave'];
}

/** Returns what to type for another server than those in the list. */
function hintRows({ servers }: Guide, columns: number): readonly Row[] {
  const isAnyFound = servers.some(({ options: [option] }) => option === '-u');
  const text = `${isAnyFound ? 'or' : 'No server answers on the usual ports. Choose the emulator, or'} type HOST:PORT, its gRPC port`;
  return wrapped(text, columns - 4).map((line) => row(`  ${line}`, 'muted'));
}
