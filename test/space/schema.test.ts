import { describe, expect, it } from 'vitest';
import { knownKnobNames } from '#space/source/known-knobs.ts';
import { spaceJsonSchema } from '#space/source/schema.ts';

describe('the JSON Schema for editors', () => {
  // To bring the file up to date: npx vitest run --project unit test/space/schema.test.ts -u
  it('is the one in search-spaces/', async () => {
    await expect(`${JSON.stringify(spaceJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
      '../../search-spaces/schema.json',
    );
  });

  it('offers every short name', () => {
    type Schema = { $defs: { space: { properties: { parameters: { properties: object } } } } };
    const { $defs } = spaceJsonSchema() as unknown as Schema;
    expect(Object.keys($defs.space.properties.parameters.properties)).toEqual(knownKnobNames);
  });
});
