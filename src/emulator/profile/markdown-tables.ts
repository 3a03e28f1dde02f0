/** A table of a Markdown document, with rows keyed by the names in its header. */
export interface MarkdownTable {
  /** The values of the list of names since the last heading, as in `* **GPU:** NVIDIA A40`. */
  readonly listBefore: Readonly<Record<string, string>>;
  readonly header: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

const RULE = /^:?-+:?$/;
/** A longer list is not one of parameters. */
const MAX_LISTED = 50;
const HEADING = /^#{1,6} /;
const LISTED = /^\s*[*-] \*\*([^*:]{1,60}):\*\*(.*)$/;

/**
 * Returns the tables of a text in order, in the pipe form of GitHub's Markdown: a header, a rule,
 * and rows up to the first line without a pipe.
 */
export function markdownTables(text: string): readonly MarkdownTable[] {
  const texts = text.split(/\r?\n/);
  const lines = texts.map(findCells);
  const listed = new Map<string, string>();
  return lines.flatMap((cells, index): MarkdownTable[] => {
    const line = texts[index] as string;
    if (HEADING.test(line)) listed.clear();
    const [, name, value] = LISTED.exec(line) ?? [];
    if (name !== undefined && value !== undefined && listed.size < MAX_LISTED) listed.set(name, value.trim());
    const header = lines[index - 1];
    if (!header || !cells || cells.length !== header.length || !cells.every((cell) => RULE.test(cell))) return [];
    let end = index + 1;
    while (lines[end]) end++;
    const rows = lines.slice(index + 1, end) as (readonly string[])[];
    const named = rows.map((row) => Object.fromEntries(header.map((column, at) => [column, row[at] ?? ''])));
    return [{ listBefore: Object.fromEntries(listed), header, rows: named }];
  });
}

/** Returns the cells of a line that begins with a pipe; null for any other. */
function findCells(line: string): readonly string[] | null {
  const text = line.trim();
  if (!text.startsWith('|')) return null;
  const cells = text.slice(1).split(/(?<!\\)\|/);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}
