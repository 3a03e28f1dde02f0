import type { Row } from './rows.ts';
import type { Section, Table } from './sections.ts';
import { code, linkTo, type Source } from './type-words.ts';

type DocumentKind = Source['kind'];

/** Returns a page: its title, its paragraphs and tables, and how to print it again. */
export const printPage = (title: string, blocks: readonly string[]): string =>
  `${[
    `# ${title}`,
    ...blocks,
    '*This page is printed from the code. After a change of the code, `npm run docs:reference` prints it again.*',
  ].join('\n\n')}\n`;

/** Returns an example in a code block. */
export const printExample = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

/** Returns the sections as Markdown. */
export const printSections = (sections: readonly Section[], kind: DocumentKind): string =>
  sections.map((section) => printSection(section, kind)).join('\n\n');

function printSection({ heading, intro, shared, tables }: Section, kind: DocumentKind): string {
  const blocks = [
    `## ${heading}`,
    ...(intro === '' ? [] : [`${intro}.`]),
    ...(shared ? [`As in ${linkTo(shared.heading)}: ${shared.fields.map(code).join(', ')}.`] : []),
    ...tables.flatMap((table, index) => [
      ...(index > 0 && table.caption === '' ? ['or'] : []),
      ...printForm(table, kind),
    ]),
  ];
  return blocks.join('\n\n');
}

function printForm({ caption, rows }: Table, kind: DocumentKind): readonly string[] {
  return [...(caption === '' ? [] : [`${caption}.`]), ...(rows.length === 0 ? [] : [printFields(rows, kind)])];
}

/** In a file people look for what they must write, in an output for what may be absent. */
function printFields(rows: Table['rows'], kind: DocumentKind): string {
  const hasDefaults = kind === 'file' && rows.some((row) => standardOf(row) !== '');
  const typeOf = ({ type, isRequired }: Row): string => (kind === 'file' || isRequired ? type : `${type}, optional`);
  return printTable(
    ['field', 'type', ...(hasDefaults ? ['default'] : []), 'meaning'],
    rows.map((row) => [code(row.field), typeOf(row), ...(hasDefaults ? [standardOf(row)] : []), row.meaning]),
  );
}

const standardOf = ({ isRequired, defaultValue }: Row): string => (isRequired ? '**required**' : defaultValue);

/** Returns a table as Markdown. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
