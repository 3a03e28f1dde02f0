import { afterEach, expect, it } from 'vitest';
import { onCpus } from '#launch/server-process.ts';

const { platform } = process;
afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform });
});

it('pins a server to CPUs on Linux, and says elsewhere that it cannot', () => {
  const setPlatform = (value: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value });
  setPlatform('linux');
  expect(onCpus('0-3')).toEqual(['taskset', '--cpu-list', '0-3']);
  setPlatform('darwin');
  expect(onCpus(undefined)).toEqual([]);
  expect(() => onCpus('0-3')).toThrow(/only Linux has/);
});
