import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const real = resolve(import.meta.dirname, '../fixtures/trace/triton-2.51.trace');

describe('trace', { timeout: 180_000 }, () => {
  it('prints tables, and every request when asked', async () => {
    const short = await callCli(['trace', real]);
    expect(short).toMatchObject({ code: 0, stderr: '' });
    expect(short.stdout).toContain('grpc chain > sleeper (version 1): 6 requests\n');
    expect(short.stdout).toMatch(/\n {6}queue +29,568 +37,512 /);
    expect(short.stdout).toContain('is incomplete');
    const long = await callCli(['trace', real, '--verbose']);
    expect(long.stdout).toMatch(/\n25 grpc chain [^\n]+\n {2}26 grpc sleeper [^\n]+\n {2}33 grpc sleeper [^\n]+\n/);
    expect(short.stdout).not.toMatch(/\n25 grpc/);
  });

  it('shows the rest of each part, and with -t each moment after the one before', async () => {
    const { stdout } = await callCli([
      'trace',
      '-t',
      resolve(import.meta.dirname, '../fixtures/trace/older-max.trace'),
    ]);
    expect(stdout).toMatch(/\n {6}overhead +23 .*\n.*send +14 .*\n {4}overhead +662 /);
    expect(stdout).toMatch(/\+344 µs {2}REQUEST_START\n +\+18 µs {2}QUEUE_START\n/);
    // A request without queue and compute is not all overhead.
    expect(stdout).not.toMatch(/2 grpc chain[^\n]*request overhead/);
  });

  it('shows the sizes of inputs where tensors were traced', async () => {
    const file = resolve(import.meta.dirname, '../fixtures/trace/triton-2.51-tensors.trace');
    const { stdout } = await callCli(['trace', file]);
    expect(stdout).toContain('\nsleeper: input INPUT: FP32 [1,8] in 1 of the traced requests\n');
  });

  it('gives the same as JSON', async () => {
    const summary = JSON.parse((await runCli(['trace', real, '--json'])).stdout) as Record<string, unknown>;
    expect(summary).toMatchObject({ schemaVersion: 1, executions: [{ model: 'sleeper', requests: 17 }] });
    expect(summary.requests).toBeUndefined();
    const whole = JSON.parse((await runCli(['trace', real, '--json', '-v'])).stdout) as { requests: unknown[] };
    expect(whole.requests).toHaveLength(22);
  });

  it('lets no text of a file reach the terminal as it is', async () => {
    const file = join(await freshDirectory(), 'trace.json');
    await writeFile(
      file,
      JSON.stringify([{ id: 1, model_name: 'a\u001b[2J\nb', model_version: 1, request_id: '\u0007' }]),
    );
    const { stdout } = await callCli(['trace', file, '-v']);
    expect(stdout).toContain('a [2J b');
    expect(stdout).not.toContain('\u001b');
  });

  it.each([
    ['[]', 'INPUT_INVALID', 'no trace in'],
    ['[{"id":1,"activity":"TENSOR_QUEUE_INPUT","tensor":{}}]', 'INPUT_INVALID', 'tensors but no times'],
    ['{"resourceSpans":[]}', 'UNSUPPORTED', 'OpenTelemetry'],
  ])('refuses %s in one line', async (text, code, words) => {
    const file = join(await freshDirectory(), 'trace.json');
    await writeFile(file, text);
    const { stderr } = await callCli(['trace', file]);
    expect(stderr).toMatch(new RegExp(`^tritune: ${code}: [^\\n]*${words}[^\\n]*\\n$`));
  });
});
