import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '#base/json.ts';
import { writtenJsonSchema } from '#base/schema.ts';
import { documents } from '#cli/commands/schema-documents.ts';
import { profileSchema } from '#report/profile-json.ts';
import { migrated } from '#study/records/migrate.ts';
import { recordJsonSchema } from '#study/records/record-schema.ts';
import { combinationsPage, exitCodesPage, metricsPage, resultsCsvPage } from './reference/code-pages.ts';
import { constantsPage } from './reference/constants-page.ts';
import type { JsonSchema } from './reference/json-schema.ts';
import { printSections } from './reference/markdown.ts';
import type { SchemaDocument } from './reference/parts.ts';
import { printSchemaPage, schemaPages } from './reference/schema-pages.ts';
import { sectionsOf, undescribed } from './reference/sections.ts';
import { unitOf } from './reference/unit-of.ts';
import { unknownFields } from './reference/unknown-fields.ts';

const root = resolve(import.meta.dirname, '../..');
const placeOf = (file: string): string => resolve(root, 'docs/reference', file);

// To print the pages: npm run docs:reference
describe.each(schemaPages)('docs/reference/$file', (page) => {
  it('is printed from the schema', async () => {
    await expect(printSchemaPage(page)).toMatchFileSnapshot(placeOf(page.file));
  });

  it('describes every field', () => {
    expect(undescribed(sectionsOf(page))).toEqual([]);
  });

  it('has an example that the program reads', async () => {
    await page.example.check(page.example.text);
  });
});

describe('docs/reference', () => {
  it.each([
    ['combinations.md', combinationsPage],
    ['constants.md', constantsPage],
    ['exit-codes.md', exitCodesPage],
    ['metrics.md', metricsPage],
    ['results-csv.md', resultsCsvPage],
  ])('has %s, printed from the code', async (file, print) => {
    await expect(print()).toMatchFileSnapshot(placeOf(file));
  });
});

describe('docs/', () => {
  it('has the schema of an emulator profile', async () => {
    const schema = `${JSON.stringify(documents.emulator(), null, 2)}\n`;
    await expect(schema).toMatchFileSnapshot(resolve(root, 'docs/emulator-profile.schema.json'));
  });

  it('has the schema of profile --json', async () => {
    const schema = `${JSON.stringify(writtenJsonSchema(profileSchema), null, 2)}\n`;
    await expect(schema).toMatchFileSnapshot(resolve(root, 'docs/profile.schema.json'));
  });
});

describe('the schema of the journal', () => {
  const journals = resolve(root, 'test/fixtures/journals-0.1.0');
  const names = readdirSync(journals, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'));
  const schema = recordJsonSchema() as JsonSchema;

  it('is the one in docs/', async () => {
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(resolve(root, 'docs/journal.schema.json'));
  });

  it.each(names)('names every field of %s', (name) => {
    const lines = readFileSync(resolve(journals, name), 'utf8').split('\n').filter(isWhole);
    const unknown = lines.flatMap((line) => unknownFields(schema, schema, migrated(JSON.parse(line) as Json)));
    expect(lines.length).toBeGreaterThan(1);
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('lacks a field that no version writes', () => {
    const record = { type: 'server-joined', at: '', server: '', more: 1 };
    expect(unknownFields(schema, schema, record)).toEqual(['more']);
  });
});

/** The last line of a killed run may be cut off. */
const isWhole = (line: string): boolean => line.endsWith('}');

describe('a reference page', () => {
  const text = { type: 'string', description: 'a name' } as const;
  const print = (document: JsonSchema, more: Partial<SchemaDocument> = {}): string =>
    printSections(sectionsOf({ document, kind: 'file', name: 'top', elsewhere: {}, ...more }), more.kind ?? 'file');
  const object = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema => ({
    type: 'object',
    properties,
    required,
  });

  it('has a table of fields, with type, unit, default and meaning', () => {
    const document = object(
      {
        name: text,
        limitMs: { type: 'number', exclusiveMinimum: 0, maximum: 50, default: 8, description: 'a limit | of it' },
        inner: { ...object({ on: { type: 'boolean', description: 'whether it is on' } }, ['on']), description: 'more' },
        all: { type: 'array', items: { enum: ['a', 'b'] }, description: 'some of these' },
      },
      ['name'],
    );
    expect(print(document).split('\n')).toEqual([
      '## top',
      '',
      '| field | type | default | meaning |',
      '|---|---|---|---|',
      '| `name` | text | **required** | A name |',
      '| `limitMs` | number > 0 and ≤ 50, ms | `8` | A limit \\| of it |',
      '| `inner` | object |  | More |',
      '| `inner.on` | true or false | **required** | Whether it is on |',
      '| `all` | list of `a` or `b` |  | Some of these |',
    ]);
    expect(print(document, { kind: 'output' })).toContain('| `limitMs` | number, ms, optional | A limit');
  });

  it('gives large objects, definitions and unions sections, and links to other pages', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const large = object(Object.fromEntries(names.map((name) => [name, text])));
    const document = {
      ...object({
        large,
        shape: { $ref: '#/$defs/shape' },
        other: { $ref: '#/$defs/other', description: 'of another page' },
      }),
      $defs: {
        shape: {
          oneOf: [
            object({ kind: { const: 'round', description: 'A circle' }, size: text }),
            object({ kind: { const: 'square' }, ...large.properties }),
          ],
        },
        other: object({ x: text }),
      },
    };
    const page = print(document, { elsewhere: { other: '[other](other.md)' } });
    expect(page).toContain('| `large` | [large](#large) |');
    expect(page).toContain('## large');
    expect(page).toContain('| `other` | [other](other.md) | Of another page |');
    expect(page).toContain('## shape\n\n`kind: round`: a circle.\n\n| field');
    expect(page).not.toContain('## other');
  });

  it('says of a field once what it is, and names it where another object has it too', () => {
    const shared = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, text]));
    const document = {
      anyOf: [{ $ref: '#/$defs/first' }, { $ref: '#/$defs/second' }],
      $defs: { first: object(shared), second: object({ ...shared, own: text }) },
    };
    expect(print(document)).toContain('## second\n\nAs in [first](#first): `a`, `b`, `c`, `d`, `e`, `f`, `g`.\n\n');
    expect(
      undescribed(
        sectionsOf({ document: object({ bare: { type: 'number' } }), kind: 'file', name: 'top', elsewhere: {} }),
      ),
    ).toEqual(['top: bare']);
  });

  it('puts forms without a name one after the other', () => {
    const either = { oneOf: [object({ share: text }), object({ rate: text })] };
    const page = print({ ...object({ either: { $ref: '#/$defs/either' } }), $defs: { either } });
    expect(page).toMatch(/`share`.*\n\nor\n\n\| field/);
  });

  it.each([
    ['latencyBudgetMs', 'ms'],
    ['durationS', 's'],
    ['maxQueueDelayNs', 'ns'],
    ['requestsPerSecond', 'per second'],
    ['gpus', undefined],
    ['trials', undefined],
  ])('knows the unit of %s', (field, unit) => {
    expect(unitOf(field)).toBe(unit);
  });
});
