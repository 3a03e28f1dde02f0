import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { gatewayForTest } from '../support/gateway.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { textServer } from '../support/text-server.ts';

const commands = {
  profile: ['profile', '-m', 'm', '--request-count', '5'],
  capacity: ['capacity', '-m', 'm', '-l', '500', '--time-budget', '3s', '--precision', '90'],
  doctor: ['doctor', '-m', 'm'],
  tune: ['tune', '-m', 'm', '--concurrency', '1:1', '--max-trials', '1', '--precision', '30', '--time-budget', '5s'],
} as const;

const text = (name: string) => ({ name, datatype: 'BYTES', shape: [1] });
const textModel = {
  name: 'm',
  versions: ['1'],
  platform: 'python',
  inputs: [text('text_input')],
  outputs: [text('text_output')],
};

describe('a server behind a gateway', { timeout: 60_000 }, () => {
  it.each(Object.entries(commands))('is reached by its path and its name: %s', async (name, args) => {
    const { httpUrl, metricsUrl } = await emulatorForTest({ profile: smallProfile() });
    const host = 'm.team.example.com';
    const gateway = await gatewayForTest({ service: httpUrl, host, basePath: '/team/triton' });
    const output = await freshDirectory();
    const more = name === 'tune' ? ['-o', output] : [];
    const at = ['-u', `http://${gateway}/team/triton/`, '-H', `Host: ${host}`, '--metrics-url', metricsUrl];
    const { code, stdout, stderr } = await callCli([...args, ...at, ...more]);
    expect(code, stdout + stderr).toBe(0);
    if (name !== 'tune') return;
    const summary = await readFile(join(output, 'summary.json'), 'utf8');
    expect(JSON.parse(summary)).toMatchObject({ restored: { verified: true } });
  });

  it('is reached by its path where it streams texts', async () => {
    const { url } = await textServer(({ path }) => {
      if (path === '/gate/v2') return { json: { name: 'triton', version: '2.51.0', extensions: [] } };
      if (path === '/gate/v2/models/m') return { json: textModel };
      return path === '/gate/v2/models/m/generate_stream' ? { events: [{ text_output: 'a' }] } : null;
    });
    const args = ['profile', '-m', 'm', '--endpoint', 'triton-generate', '-u', `http://${url}/gate`];
    const { code, stdout, stderr } = await callCli([...args, '--input-tokens', '4', '--request-count', '5']);
    expect(code, stdout + stderr).toBe(0);
  });

  it('is told with the path that it does not have', async () => {
    const { httpUrl } = await emulatorForTest({ profile: smallProfile() });
    const gateway = await gatewayForTest({ service: httpUrl, basePath: '/triton' });
    const { code, stderr } = await callCli(['profile', '-m', 'm', '-u', `http://${gateway}/wrong`]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`${gateway}/wrong`);
    expect(stderr).toMatch(/404.* \/wrong\/v2/);
  });
});
