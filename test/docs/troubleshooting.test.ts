import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { errorCodes } from '#base/errors.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/troubleshooting.md'), 'utf8');

it('says of each error code, and of no other, what to do', () => {
  const headings = [...page.matchAll(/^### (\w+)$/gm)].map(([, code]) => code);
  expect(headings.toSorted()).toEqual(Object.keys(errorCodes).toSorted());
});
