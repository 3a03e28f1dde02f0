import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readResultTable } from '#emulator/profile/result-table.ts';
import { callCli } from '../support/call-cli.ts';
import { dropIn, runCli, startCli } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { textServer } from '../support/text-server.ts';

const target = async (profile = smallProfile()) => {
  const emulator = await emulatorForTest({ profile });
  return ['-m', 'm', '-u', emulator.grpcUrl, '-i', 'grpc'];
};

describe('tritune profile', () => {
  it('prints and writes the levels of a sweep, with how far they can be trusted', async () => {
    const directory = await freshDirectory();
    const [csv, json, ndjson] = ['r.csv', 'r.json', 'r.ndjson'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    const { code, stdout, stderr } = await runCli([
      'profile',
      ...(await target()),
      ...['--concurrency-range', '1:3:2', '--precision', '30', '--percentile', '97.5', '-v'],
      ...['-f', csv, '--json', json, '--ndjson', ndjson],
    ]);
    // A level may be unstable on a busy machine.
    expect(stderr).toMatch(/^(Failed to obtain stable measurement [^\n]+ such as --precision 60\.\n)*$/);
    expect(code).toBe(0);
    expect(stdout.match(/^Request concurrency: \d+$/gm)).toEqual(['Request concurrency: 1', 'Request concurrency: 3']);
    expect(stdout).toMatch(/^ {2}Pass \[1\] throughput: [\d.]+ infer\/sec\. p97\.5 latency: \d+ usec\.$/m);
    expect(stdout).toMatch(/95 % interval/);
    const rows = (await readFile(csv, 'utf8')).trim().split('\n');
    expect(rows[0]).toContain('p95 latency,p97.5 latency,p99 latency');
    expect(rows).toHaveLength(3);
    const { levels, server } = JSON.parse(await readFile(json, 'utf8'));
    expect(server.emulated).toBe('small');
    expect(levels.map(({ level }: { level: { value: number } }) => level.value)).toEqual([1, 3]);
    const events = (await readFile(ndjson, 'utf8')).trim().split('\n');
    expect(new Set(events.map((line) => JSON.parse(line).type))).toEqual(
      new Set(['profile', 'level-started', 'window', 'level']),
    );
  });

  it('exports every request with its times, inputs and outputs', async () => {
    const file = join(await freshDirectory(), 'export.json');
    const args = ['profile', ...(await target()), '--request-count', '12', '--profile-export-file', file];
    expect((await callCli([...args, '--input-data', 'zero'])).code).toBe(0);
    const { experiments } = JSON.parse(await readFile(file, 'utf8'));
    expect(experiments).toHaveLength(1);
    const [{ experiment, requests, window_boundaries }] = experiments;
    expect(experiment).toEqual({ mode: 'concurrency', value: 1 });
    expect(requests).toHaveLength(12);
    expect(window_boundaries.length).toBeGreaterThan(0);
    for (const request of requests) {
      expect(request.request_inputs).toEqual({ IN: [0, 0, 0, 0] });
      expect(request.response_outputs[0].OUT).toHaveLength(4);
      expect(request.response_timestamps[0]).toBeGreaterThan(request.timestamp);
    }
    // Nanoseconds since 1970: the machine's date, not the process's age.
    expect(requests[0].timestamp / 1e6).toBeGreaterThan(Date.now() - 3.6e6);
    const again = await callCli(args);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/OUTPUT_EXISTS/);
  });

  it('sends a trace, a fixed schedule and bursts as they are due', async () => {
    const directory = await freshDirectory();
    const [trace, data] = [join(directory, 'trace'), join(directory, 'data.json')];
    await writeFile(trace, '# ms\n100\n150\n150\n\n400\n');
    const step = (ms: number) => ({ IN: [1, 2, 3, 4], timestamp: [ms] });
    await writeFile(data, JSON.stringify({ data: [step(0), step(50.5), step(300)] }));
    const server = await target();
    const traced = await runCli(['profile', ...server, '--arrival-trace', trace, '--trace-speed', '2']);
    // A busy machine sends late, and is told so.
    const words = traced.stderr.replace(/^\[WARNING\] The client was the limit, .*\n/, '');
    expect({ code: traced.code, words }).toEqual({ code: 0, words: '' });
    expect(traced.stdout).toMatch(/Request count: 4$/m);
    expect(traced.stdout).toMatch(/^Request Rate: 26\.6667 /m);
    const fixed = await runCli(['profile', ...server, '--fixed-schedule', '--input-data', data]);
    expect(fixed.stdout).toMatch(/Request count: 3$/m);
    const ramp = await runCli(['profile', ...server, '--ramp', '0:100:0.4']);
    expect(ramp.stdout).toMatch(/Request count: 20$/m);
  });

  it("takes others' names of the batch, and refuses the sizes of a table without the table", async () => {
    const once = ['profile', ...(await target()), '--request-count', '20'];
    for (const name of ['-b', '--batch', '--batch-size'])
      expect(await callCli([...once, name, '4'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Batch size: 4'),
      });
    expect(await callCli([...once, '--batch-sizes', '1,4'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--batch-sizes needs --scenario offline.*-b N/),
    });
    expect(await callCli([...once, '--concurrencies', '1:4'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--concurrencies needs --scenario online/),
    });
  });

  it('writes the tables and plots of a scenario', async () => {
    const directory = join(await freshDirectory(), 'tables');
    const args = [
      'profile',
      ...(await target()),
      '--scenario',
      'offline',
      '--batch-sizes',
      '1,4',
      '--request-count',
      '20',
      '--label',
      'Precision=FP16',
    ];
    const { code, stdout } = await callCli([...args, '-o', directory]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\| Batch \| Concurrency \| Inferences\/Second \| Client Send \(ms\) \|/m);
    expect(stdout).toMatch(/^\| Precision +\| FP16 +\|$/m);
    expect(stdout).toMatch(/^\| Request count +\| 20 +\|$/m);
    expect((await readdir(directory)).sort()).toEqual([
      'latency_vs_batch_offline.png',
      'latency_vs_batch_offline.svg',
      'results_offline.csv',
      'results_offline.md',
      'throughput_vs_latency_offline.png',
      'throughput_vs_latency_offline.svg',
    ]);
    const rows = (await readFile(join(directory, 'results_offline.csv'), 'utf8')).trim().split('\n');
    const published = await readFile(join(import.meta.dirname, '../fixtures/result-table-header.csv'), 'utf8');
    expect(rows[0]).toBe(published.trim());
    expect(rows.slice(1).map((row) => row.split(',').slice(0, 7).join(','))).toEqual([
      'cpu,python,random,offline,1,1,1',
      'cpu,python,random,offline,1,4,1',
    ]);
    const document = await readFile(join(directory, 'results_offline.md'), 'utf8');
    expect(document).toMatch(/^# Offline: CPU, Python with FP16, Dataset: random\n/);
    const [setUp] = readResultTable(document, 'results_offline.md', 1);
    expect(setUp).toMatchObject({
      labels: { backend: 'Python', precision: 'FP16', dataset: 'random' },
      settings: { instances: 1 },
    });
    expect(setUp?.rows.map(({ samplesPerRequest }) => samplesPerRequest)).toEqual([1, 4]);
    const sent = rows.slice(1).map((row) => Number(row.split(',')[8]));
    for (const ms of sent) expect(ms).toBeGreaterThan(0);
  });

  it('ends with the levels that it has when it is interrupted', async () => {
    const file = join(await freshDirectory(), 'r.csv');
    const args = [...(await target()), '--concurrency-range', '1:500', '--precision', '30', '-f', file];
    const running = startCli(['profile', ...args]);
    for (let tries = 0; tries < 300; tries++) {
      if ((await readFile(file, 'utf8').catch(() => '')).split('\n').length > 2) break;
      await new Promise((wake) => setTimeout(wake, 100));
    }
    running.child.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/^Inferences\/Second vs\. Client Average Batch Latency\nConcurrency: 1, throughput/m);
  });

  it.each([
    [['--concurrency-range', '1:2', '--request-rate-range', '5'], /cannot be used together/],
    [['--concurrency-range', '1:0'], /--latency-threshold/],
    [['--binary-search', '--concurrency-range', '1:8'], /--binary-search needs/],
    [['--concurrency-range', '1:8', '--request-count', '10'], /single load level/],
    [['--enable-mpi'], /not supported/],
    [['--service-kind', 'torchserve'], /no service kind/],
    [['--service-kind', 'openai', '-i', 'grpc'], /uses HTTP/],
    [['--shared-memory', 'cuda'], /CUDA/],
    [['-x', '9'], /not served in version 9/],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await callCli(['profile', ...(await target()), ...args]);
    expect(stderr).toMatch(words);
    expect(code).toBe(2);
  });

  it('says that nothing answers, and that no request succeeded', async () => {
    expect((await callCli(['profile', '-m', 'm', '-u', '127.0.0.1:1'])).code).toBe(4);
  });
});

describe('tritune-perf-analyzer', () => {
  const run = (args: readonly string[]) => runCli(args, { program: dropIn });

  it('prints only what perf_analyzer would, and ends with 0', async () => {
    // Any three windows are alike enough: how even they are is the machine's, and it may be busy.
    const { code, stdout } = await run([...(await target()), '-p', '100', '-s', '1000000', '-r', '4']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}Measurement window: 100 msec$/m);
    expect(stdout).not.toMatch(/Trust/);
  });

  it('ends with 2 when the first level is unstable, and says so in the words that others look for', async () => {
    const { code, stderr, stdout } = await run([...(await target()), '-p', '50', '-s', '0.0001', '-r', '3']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Failed to obtain stable measurement within 3 measurement windows for concurrency 1\./m);
    expect(stdout).toMatch(/Throughput: [\d.]+ infer\/sec/);
  });

  it.each([
    ['whole', []],
    ['as streams', ['--streaming']],
  ])('takes replies of chats %s, and sends the payloads of a file', async (_, more) => {
    const chunk = (content: string, finish_reason: string | null) => ({
      choices: [{ delta: { content }, finish_reason }],
    });
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const message = { role: 'assistant', content: 'a b' };
    const server = await textServer(({ path, body }) => {
      if (path !== '/v1/chat/completions') return null;
      return body.stream === true
        ? { events: [chunk('a', null), chunk(' b', 'stop'), { choices: [], usage }] }
        : { json: { choices: [{ message, finish_reason: 'stop' }], usage } };
    });
    const file = join(await freshDirectory(), 'inputs.json');
    const payload = [
      { model: 'm', messages: [{ role: 'user', content: 'what is it?' }], max_tokens: 2, temperature: 0.5 },
    ];
    await writeFile(file, JSON.stringify({ data: [{ payload }] }));
    const chat = ['-m', 'm', '-u', server.url, '--service-kind', 'openai', '--endpoint', 'v1/chat/completions'];
    const outcome = await run([...chat, '--input-data', file, '--request-count', '20', ...more]);
    expect(outcome).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Service Kind: OPENAI[\s\S]*Throughput: /),
    });
    expect(outcome.stdout).not.toMatch(/Trust/);
    const { body } = server.calls.at(-1) ?? {};
    expect(body).toMatchObject({ messages: payload[0]?.messages, temperature: 0.5, stream: more.length > 0 });
    const exported = await run([...chat, '--profile-export-file', 'requests.json']);
    expect(exported).toMatchObject({
      code: 99,
      stderr: expect.stringContaining('--profile-export-file is not supported'),
    });
  });

  it('ends with 99 for bad usage and failing requests, and with 0 for help', async () => {
    expect((await run(['--no-such-option'])).code).toBe(99);
    expect((await run(['-m', 'mlp', '--request=3'])).code).toBe(99);
    expect((await run(['-m', 'mlp', '--service-kind', 'openai'])).code).toBe(99);
    expect((await run(['-m', 'nope', '-u', '127.0.0.1:1'])).code).toBe(99);
    expect((await run(['--help'])).code).toBe(0);
  });
});
