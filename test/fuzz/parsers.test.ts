import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { examplesOf, fuzzSubject } from '../support/guided-fuzz.ts';
import { ours, parsers } from './parsers/registry.ts';

/** Of each parser, the same in each run. `bench/fuzz.ts` has others, and many more. */
const CASES = 300;

/** Signs that a file reads or parses what may come from elsewhere. */
const SIGNS: readonly RegExp[] = [
  // But copies of one's own values.
  /\bJSON\.parse\((?!JSON\.stringify|canonicalJson)/,
  /\.safeParse\(/,
  /\b(?:outcome|orders|schema)\.parse\(/,
  /\.decode(?:Message)?\(/,
  /(?<![.#\w])(?:readText|readTextSync|readBytes|readBytesSync|piecesSync|readStart|readEndSync|readFile|readFileSync)\(/,
  /\bfor await \(const \w+ of readPieces\(|chunks: readPieces\(/,
  /(?<![.#\w])(?:readYaml|readDocument|parseDocument|csvRows|csvCells|readFileRecords|readRecordBatches)\(/,
  /import \{[^}]*\bparse\b[^}]*\} from 'yaml'/,
  /\.on\('data'/,
  /socket\.on\('message'/,
  /\bonread\b/,
  /\bprotobuf\.Reader\.create\(/,
];

const root = join(import.meta.dirname, '../..');
/** Sources by their path in `src`, or in the repository for those of the lab. */
const sources = new Map(
  ['src', 'lab'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('dist/'))
      .map((file) => [folder === 'src' ? file : join(folder, file), join(root, folder, file)] as const),
  ),
);
const files = [...sources.keys()];
const found = files.filter((file) =>
  SIGNS.some((sign) => sign.test(readFileSync(sources.get(file) as string, 'utf8'))),
);

describe('the list of parsers', () => {
  const listed = new Set([...parsers.flatMap(({ sources }) => sources), ...Object.keys(ours)]);

  it('has every file that parses: a new one is fuzzed, or says what of ours it reads', () => {
    expect(found.filter((file) => !listed.has(file))).toEqual([]);
  });

  it('has no file that does not exist, or that needs no reason', () => {
    expect([...listed].filter((file) => !files.includes(file))).toEqual([]);
    expect(Object.keys(ours).filter((file) => !found.includes(file))).toEqual([]);
  });

  it('has names that differ', () => {
    expect(new Set(parsers.map(({ name }) => name)).size).toBe(parsers.length);
  });
});

describe.each(parsers)('$name', (parser) => {
  it('is read when it is sound', async () => {
    expect(parser.seeds.length).toBeGreaterThan(0);
    for (const seed of parser.seeds) expect(await parser.read(Buffer.from(seed)), String(seed)).toBeDefined();
  });

  it('that once failed is read, or refused with a code', async () => {
    for (const bytes of examplesOf(parser).values()) await parser.read(bytes);
  });

  it('that is damaged is read, or refused with a code', () =>
    fuzzSubject(parser, { cases: parser.isSlow ? CASES / 10 : CASES, seed: 'always' }));
});
