import { expect, it } from 'vitest';
import { statusLines } from '#cli/commands/fleet-studies.ts';
import { fleetProgress, workFor } from '../support/watched-fleet.ts';

it('a server that is getting ready for a study is not away', () => {
  const status = { study: 's', group: 'g', status: 'RUNNING', startedAt: new Date(0) };
  const progress = fleetProgress([workFor('a', 8, {})], { idle: ['b'], held: ['a', 'b', 'c', 'd'], joining: ['c'] });
  const [head, ...servers] = statusLines({ ...status, progress });
  expect(head).toBe('s  group g  running, tuning  since 1970-01-01T00:00:00Z');
  expect(servers).toEqual(['  a: trial 8', '  b: idle', '  c: getting ready', '  d: away']);
});
