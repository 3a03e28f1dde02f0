import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writtenJsonSchema } from '#base/schema.ts';
import { explanationSchema } from '#explain/explanation.ts';
import { anExplanation } from './documents.ts';

const published = resolve(import.meta.dirname, '../../docs/explain.schema.json');

describe('the document of an explanation', () => {
  it('has a schema, which is the published schema in docs/', async () => {
    const schema = writtenJsonSchema(explanationSchema);
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(published);
    expect(explanationSchema.safeParse(anExplanation).error).toBeUndefined();
  });
});
