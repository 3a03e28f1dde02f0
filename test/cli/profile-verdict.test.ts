import { expect, it } from 'vitest';
import { toExitCode } from '#cli/commands/profile/run.ts';
import { levelReport } from '../support/level-reports.ts';

const failures = [{ kind: 'status', count: 96, firstMessage: 'Exceeds maximum queue size' }] as const;
const served = levelReport();
const failing = { ...served, measurement: { ...served.measurement, errorRate: 0.96, failures } };

it('is a failure where most requests failed at every level, in the words of the server', () => {
  expect(toExitCode({ reports: [served, failing], wasInterrupted: false })).toBe(0);
  expect(toExitCode({ reports: [failing], wasInterrupted: true })).toBe(130);
  expect(() => toExitCode({ reports: [failing], wasInterrupted: false })).toThrow(
    '96 % of requests failed (`Exceeds maximum queue size`)',
  );
});
