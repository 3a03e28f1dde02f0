import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { tune } from '#library/tune.ts';
import { readJournal } from '#study/records/journal.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { isNightly } from '../support/fuzz.ts';
import { type HostileCase, hostileOptions, hostileProfile, isMisled, singleCases } from '../support/hostile-cases.ts';
import { startHostileServer } from '../support/hostile-server.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** `npm run bench:hostile` has all of them, in processes whose time and memory are limited. */
const CASES = isNightly ? 300 : 1;

const known = [
  'http ModelConfig.config.output.data_type = JSON -1e400',

  'grpc ModelConfig.config.output.data_type = 999',
  'http ModelStatistics.model_stats.batch_stats = times 10000',
];
const all = singleCases(seededRandom(isNightly ? Math.floor(Date.now() / 864e5) : 1));
const cases = [...all.filter(({ name }) => known.includes(name)), ...all.slice(0, CASES)];

/** How a study of that server ends, and what it says of the model. */
async function endOf(each: HostileCase) {
  const server = await startHostileServer(hostileProfile);
  onTestFinished(() => server.close());
  const sound = connectGrpc(server.soundUrl, { defaultTimeoutMs: 20_000 });
  onTestFinished(() => sound.close());
  const options = hostileOptions(each, server);
  const state = async (): Promise<string> =>
    canonicalJson(await sound.modelConfig(options.model as string).catch(String));
  const before = await state();
  server.alter(each.alterations);
  const output = join(await freshDirectory(), 'run');
  const error = await tune({ ...options, output }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const changed = server.alter([]);
  return { error, changed, output, isAsBefore: (await state()) === before };
}

it('has the cases that once failed', () => {
  expect(cases.map(({ name }) => name)).toEqual(expect.arrayContaining(known));
});

it.each(cases)(
  'a study of a server that says $name ends with a code, a journal and its model',
  { timeout: 180_000 },
  async (each) => {
    const { error, output, isAsBefore } = await endOf(each);
    if (error !== null) {
      expect(isTrituneError(error), String(error)).toBe(true);
      expect(isTrituneError(error, 'INTERNAL', 'RECORD_INVALID'), String(error)).toBe(false);
    }
    const records = await readJournal(`${output}/journal.jsonl`).catch((fault: unknown) => {
      // It ended before it began.
      expect(isTrituneError(fault, 'JOURNAL_INVALID')).toBe(true);
      expect(error).not.toBeNull();
      return [];
    });
    const restored = records.flatMap((record) => (record.type === 'model-restored' ? [record.verified] : []));
    if (!isMisled(each)) expect(isAsBefore || restored.at(-1) === false).toBe(true);
  },
);
