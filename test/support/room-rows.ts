/** A row of the table under "Rooms" in docs/architecture.md. */
export interface RoomRow {
  readonly rooms: readonly string[];
  /** What its rooms know nothing of, in the table's words; '' where it says so of none. */
  readonly ignorant: string;
}

/**
 * Returns the rows of the table; the first column has names in backticks, such as
 * `| \`report\` · \`tui\` | … | … |`.
 */
export function roomRows(text: string): RoomRow[] {
  const section = text.split(/^## /m).find((part) => part.startsWith('Rooms\n')) ?? '';
  const cells = [...section.matchAll(/^\| ((?:`\w+`(?: · )?)+) \|.*\| ([^|]*) \|$/gm)];
  return cells.map(([, names, ignorant]) => ({
    rooms: [...(names as string).matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
    ignorant: (ignorant as string).replaceAll('`', '').replace(/^—$/, ''),
  }));
}
