import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const rooms = [
  'src/capacity',
  'src/capacity/posterior',
  'src/perfmodel',
  'src/perfmodel/continuous',
  'src/perfmodel/network',
  'src/study/search/queueing',
];
const files = rooms
  .flatMap((room) => readdirSync(join(root, room)).map((name) => `${room}/${name}`))
  .filter((name) => name.endsWith('.ts'))
  .sort();

/**
 * Named numbers of both, as `file NAME | value`; of a value of several lines the first one counts.
 */
const inCode = files.flatMap((file) =>
  [
    ...readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: [^=]+)? = (.*\d.*|\{)$/gm,
    ),
  ].map(
    ([, name, value = '']) =>
      `${file.replace(/^src\/(study\/search\/)?/, '')} | \`${name}\` | ${value === '{' ? 'several' : `\`${value.replace(/( as const)?;$/, '')}\``}`,
  ),
);

it('every constant of the default sampler and of the capacity search is in the table, with its value', () => {
  const text = readFileSync(join(root, 'docs/constants.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (.*?) \| (`\S+`) \| (.*) \| ([a-z]+) \|$/gm)];
  expect(rows.map(([, file, name, value]) => `${file} | ${name} | ${value}`)).toEqual(inCode);
  const kinds = new Set([...text.matchAll(/^- \*\*(\w+)\*\*/gm)].map(([, kind]) => kind));
  for (const [, , , , kind] of rows) expect(kinds).toContain(kind);
});
