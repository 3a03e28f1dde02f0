import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '#app/exit-codes.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { toModelConfig } from '#space/model-configs.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { runCli } from '../support/cli.ts';
import { isNightly } from '../support/fuzz.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { nightlyRows, type Row, requestRows, rows } from './server-rows.ts';
import { ENDS_WITHIN_MS, executionMsOf, type Played, playFaults, wayProfile, writeSpace } from './server-stage.ts';

describe.concurrent('tune survives', { timeout: ENDS_WITHIN_MS + 30_000 }, () => {
  it.each(named(isNightly ? [...rows, ...nightlyRows] : rows))('%s', async (_, row) => {
    const played = await playFaults({ ...row, ways: Object.keys(row.fates) });
    check(row, played);
    expect(measuredOf(played.records).every(({ measurement }) => measurement.errorRate < 1)).toBe(true);
  });

  it.each(named(requestRows))('%s', async (_, row) => {
    const played = await playFaults({ ...row, ways: Object.keys(row.fates) });
    check(row, played);
    for (const { trial, measurement } of measuredOf(played.records).filter((record) => record.trial > 0)) {
      expect(measurement.errorRate, Object.keys(row.fates)[trial - 1]).toBeGreaterThan(0.02);
      expect(measurement.failures.length).toBeGreaterThan(0);
    }
    const finished = played.records.filter((record) => record.type === 'trial-finished');
    expect(finished.filter(({ trial, feasible }) => trial > 0 && feasible)).toEqual([]);
  });
});

it('says so as a command: exit code 4, what happened and what to do on stderr, the state of the model in the last line', async () => {
  const profile = wayProfile(['slow']);
  const emulator = await startEmulator({ profile, faults: { crashLoad: () => true } });
  const output = await freshDirectory();
  const { space, candidates } = await writeSpace(output, ['slow']);
  try {
    const outcome = await runCli([
      ...['tune', '-m', 'm', '-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl, '-o', join(output, 'run')],
      ...['--sampler', 'manual', '--space', space, '--candidates', candidates],
      ...['--concurrency', '1:1', '--precision', '30', '--max-outage', '1s'],
    ]);
    expect(outcome.stdout.trim().split('\n').at(-1)).toMatch(/^model +NOT as it was: 'm' could not be put back/);
    expect(outcome.stderr).toMatch(/^tritune: RESTORE_FAILED: .*SERVER_UNREACHABLE.* \([^\n]*\S restore \S+`\)\n$/);
    expect(outcome.stderr).toContain(` restore ${join(output, 'run')}`);
    expect(outcome.code).toBe(4);
  } finally {
    await emulator.close();
  }
}, 180_000);

function named(all: readonly Row[]): [string, Row][] {
  return all.map((row) => [row.fault, row]);
}

/**
 * On a machine that is too busy a measurement is rightly taken for the client's own limit, and
 * counts for nothing.
 */
const MEASURED = /^(measured|client-bound: .*)$/;

const isTooBusy = (records: readonly StudyRecord[]): boolean =>
  records.some((record) => record.type === 'trial-finished' && record.trial === 0 && !record.feasible);

/** Ended as it should, every figure possible, and the last line true. */
function check({ exitCode, fates, error = undefined }: Row, played: Played): void {
  const { records, lastLine, isOriginal } = played;
  expect(played.error && `${played.error.code}: ${played.error.message}`).toEqual(
    error ? expect.stringMatching(new RegExp(`^${error.code}: .*${error.message.source}`)) : null,
  );
  // Another candidate may have met the budget when the original, on a machine too busy, did not.
  const alsoRight = exitCode === exitCodes.done && isTooBusy(records) ? [exitCodes.infeasible] : [];
  expect([exitCode, ...alsoRight]).toContain(played.exitCode);
  expect(fatesIn(records, Object.keys(fates))).toEqual(
    Object.fromEntries(
      Object.entries(fates).map(([way, fate]) => [way, expect.stringMatching(fate === 'measured' ? MEASURED : fate)]),
    ),
  );
  const configs = new Map(
    records.flatMap((each) => (each.type === 'trial-started' ? [[each.trial, toModelConfig(each.candidate)]] : [])),
  );
  for (const { trial, measurement } of measuredOf(records)) {
    const leastMs = executionMsOf(configs.get(trial) ?? {});
    expect(measurement.throughput.value).toBeGreaterThan(0);
    expect(measurement.throughput.value).toBeLessThan((1.05 * 1e3) / leastMs);
    expect(measurement.latencyMs.p50).toBeGreaterThan(0.97 * leastMs);
  }
  // Nothing answers, or what is there was from the beginning, or the last line says that it is not.
  expect(lastLine).toMatch(isOriginal ? /^model +.*original config/ : /^model +NOT as it was/);
  expect(records.at(-1)?.type).toBe('study-finished');
}

/** The measurements that count: not those of failed trials. */
function measuredOf(records: readonly StudyRecord[]) {
  const failed = records.flatMap((record) =>
    record.type === 'trial-finished' && record.failure ? [record.trial] : [],
  );
  return records
    .filter((record) => record.type === 'trial-measured' || record.type === 'final-measured')
    .filter(({ trial }) => !failed.includes(trial));
}

function fatesIn(records: readonly StudyRecord[], ways: readonly string[]): Record<string, string> {
  const finished = records.flatMap((record) => (record.type === 'trial-finished' && record.trial > 0 ? [record] : []));
  return Object.fromEntries(
    finished.map(({ trial, failure }) => [
      ways[trial - 1],
      failure ? `${failure.kind}: ${failure.reason}` : 'measured',
    ]),
  );
}
