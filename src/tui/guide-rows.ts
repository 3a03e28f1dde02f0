import { argumentsOf, choicesOf, type Guide, takesText } from './guide.ts';
import { foreign, heading, type Row, row, type Size, span, wrapped } from './rows.ts';

const questions: Readonly<Record<Guide['step'], string>> = {
  server: 'Which server?',
  model: 'Which model?',
  budget: 'Latency budget on p99, in ms? (nothing for none)',
  plan: 'Start?',
};

/** The guided start as a screen. */
export function guideRows(guide: Guide, { columns, rows }: Size): readonly Row[] {
  const { waiting, fault, text } = guide;
  const command = `tritune ${argumentsOf(guide).map(quoted).join(' ')}`;
  const choices = choicesOf(guide).map((choice, index): Row => {
    const isChosen = index === guide.cursor && text === '';
    return row(`  ${isChosen ? '›' : ' '} ${foreign(choice)}`, isChosen ? 'strong' : undefined);
  });
  const input: readonly Row[] = takesText(guide)
    ? [[span('  > ', 'accent'), span(foreign(text), 'strong'), span('_')]]
    : [];
  const others = choices.length > 0 ? 'or type' : 'none answers on the usual ports; type';
  const hint = guide.step === 'server' ? [row(`  ${others} HOST:PORT, its gRPC port`, 'muted')] : [];
  const plan = guide.plan.flatMap((line) => indented(line, columns));
  const asked = waiting === null ? [...choices, ...hint, ...input, ...plan] : [row(`  ${waiting} …`, 'now')];
  const foot: readonly Row[] = [
    ...(fault === null ? [row('')] : wrapped(foreign(fault), columns - 4).map((part) => row(`  ${part}`, 'bad'))),
    row('  the same by hand:', 'muted'),
    ...wrapped(foreign(command, 1000), columns - 4).map((part) => row(`  ${part}`, 'accent')),
    row(`  ${keysOf(guide).join('  ')}`, 'muted'),
  ];
  const body = [
    heading('tritune: guided start', columns),
    row(''),
    row(`  ${questions[guide.step]}`, 'strong'),
    ...asked,
  ];
  return [...cut(body, Math.max(3, rows - foot.length)), ...foot];
}

/** The line in as many rows as it needs, each as far in as the first. */
function indented(line: string, columns: number): readonly Row[] {
  const indent = ' '.repeat(2 + line.length - line.trimStart().length);
  return wrapped(foreign(line, 2000), columns - indent.length - 2).map((part) => row(`${indent}${part}`));
}

/** So many of the rows; the last says how many are left out. */
function cut(rows: readonly Row[], room: number): readonly Row[] {
  if (rows.length <= room) return rows;
  return [...rows.slice(0, room - 1), row(`  … ${rows.length - room + 1} more lines`, 'muted')];
}

function keysOf(guide: Guide): readonly string[] {
  const choose = choicesOf(guide).length > 1 ? ['↑ ↓ choose'] : [];
  const leave = guide.step === 'server' ? 'Esc leave' : 'Esc back';
  const next = guide.step === 'plan' ? 'Enter start' : 'Enter take it';
  return [...(guide.waiting === null ? [next, ...choose] : []), leave, 'Ctrl+C leave'];
}

/** As a shell takes it. */
const quoted = (argument: string): string =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
