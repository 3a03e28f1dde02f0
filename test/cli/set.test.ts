import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

it('sets fields of a file of a study, and of each study of a series', async () => {
  const directory = await freshDirectory();
  const [one, series] = [join(directory, 'one.yaml'), join(directory, 'series.yaml')];
  await writeFile(one, 'model: m\nlimits: { maxTrials: 3, maxOutageSeconds: 9 }\n');
  await writeFile(series, 'studies: [{ model: a }, { model: b }]\n');
  const settings = ['--set', 'limits.maxTrials=7', '--set', 'limits.maxOutageSeconds=null', '--print-spec'];
  const study = await callCli(['tune', '--spec', one, ...settings]);
  expect(parse(study.stdout)).toMatchObject({ model: 'm', limits: { maxTrials: 7 } });
  expect(study.stdout).not.toContain('maxOutageSeconds');
  const { stdout } = await callCli(['tune', '--spec', series, ...settings]);
  expect(parse(stdout).studies).toMatchObject([
    { model: 'a', limits: { maxTrials: 7 } },
    { model: 'b', limits: { maxTrials: 7 } },
  ]);
});

it('is refused with the words of the schema, and when a study is resumed', async () => {
  const refused = await callCli(['tune', '-m', 'm', '--set', 'limits.maxTrials=-1', '--print-spec']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('limits.maxTrials: Too small') });
  const resumed = await callCli(['tune', '--resume', await freshDirectory(), '--set', 'limits.maxTrials=1']);
  expect(resumed).toMatchObject({ code: 2, stderr: expect.stringContaining('--set') });
});
