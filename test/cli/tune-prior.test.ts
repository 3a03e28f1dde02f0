import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ModelExplanation } from '#explain/explanation.ts';
import { anExplanation } from '../explain/documents.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const OPTIONS = ['--max-trials', '1', '--precision', '50', '--concurrency', '1:4', '--ui', 'lines'];
const startsIn = async (directory: string) =>
  (await recordsOf(directory)).flatMap((record) => (record.type === 'trial-started' ? record : []));

it('a study tries the best of an earlier one first, and goes on without it', { timeout: 120_000 }, async () => {
  const directory = await freshDirectory();
  const [earlier, later] = [join(directory, 'earlier'), join(directory, 'later')];
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ a: 4 }) });
  const study = ['tune', '-m', 'm', '-u', grpcUrl];
  expect(await callCli([...study, ...OPTIONS, '-o', earlier])).toMatchObject({ code: 0, stderr: '' });
  const outcome = await callCli([...study, ...OPTIONS, '-o', later, '--prior', earlier, '--seed', '2']);
  expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
  expect(outcome.stdout).toContain(`\n    from ${earlier}, tried first\n`);
  const [before, started] = await Promise.all([earlier, later].map(startsIn));
  expect(started?.slice(0, 2)).toMatchObject([
    { role: 'baseline' },
    { role: 'search', prior: earlier, candidate: { assignment: before?.[1]?.candidate.assignment } },
  ]);
  await rename(earlier, join(directory, 'away'));
  const resumed = await callCli(['tune', '--resume', later, '--ui', 'lines']);
  expect(resumed, resumed.stderr).toMatchObject({ code: 0, stderr: '' });
});

it('a study tries first what explain proposed', { timeout: 120_000 }, async () => {
  const directory = await freshDirectory();
  const [file, run] = [join(directory, 'explain.json'), join(directory, 'run')];
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile({ a: 4 }) });
  const study = ['tune', '-m', 'm', '-u', grpcUrl, ...OPTIONS, '-o', run, '--prior', file];
  const [explained] = anExplanation.models as [ModelExplanation];
  const write = (change: Partial<ModelExplanation>) =>
    writeFile(file, JSON.stringify({ ...anExplanation, models: [{ ...explained, ...change }] }));
  await write({ model: 'm', proposal: null });
  expect(await callCli(study)).toMatchObject({ code: 2, stderr: expect.stringContaining('proposes no other config') });
  await write({});
  expect(await callCli(study)).toMatchObject({ code: 2, stderr: expect.stringContaining("does not explain 'm'") });
  await write({ model: 'm', proposal: explained.proposal && { ...explained.proposal, assignment: { elsewhere: 1 } } });
  expect(await callCli(study)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${file}: the search space does not have the proposed config: `),
  });
  const assignment = { max_batch_size: 16, dynamic_batching: true, queue_delay_us: 500 };
  await write({ model: 'm', proposal: explained.proposal && { ...explained.proposal, assignment } });
  const outcome = await callCli(study);
  expect(outcome, outcome.stderr).toMatchObject({ code: 0, stderr: '' });
  expect((await startsIn(run)).slice(0, 2)).toMatchObject([
    { role: 'baseline' },
    { role: 'search', prior: file, candidate: { assignment } },
  ]);
});

it('does not certify at listed levels, and says why', async () => {
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
  const study = ['tune', '-m', 'm', '-u', grpcUrl, '--set', 'levels.values=[1,4]', '--certify', '3%', '--dry-run'];
  expect(await callCli(study)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--certify needs a range of load levels'),
  });
});

it('and is refused without one, before anything is changed', async () => {
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile() });
  const directory = await freshDirectory();
  const study = ['tune', '-m', 'm', '-u', grpcUrl, '-o', join(directory, 'run'), '--prior', join(directory, 'none')];
  const refusal = { code: 2, stderr: expect.stringMatching(/JOURNAL_INVALID: cannot read .*none/) };
  expect(await callCli(study)).toMatchObject(refusal);
  expect(await callCli([...study, '--dry-run'])).toMatchObject(refusal);
});
