import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { observeServer } from '#app/explain/observe-server.ts';
import { VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { explanationSchema } from '#explain/explanation.ts';
import type { ModelStatistics } from '#triton/types.ts';
import { callCli } from '../../support/call-cli.ts';
import { emulatorForTest, seriesProfile, smallProfile } from '../../support/emulator.ts';
import { othersSend } from '../../support/other-sender.ts';
import { recordGrpc, recordHttp } from '../../support/recording-proxy.ts';

const scratch = (): string => mkdtempSync(join(tmpdir(), 'tritune-explain-'));

/** Calls that read: the only ones that may reach a server that nobody may touch. */
const READS = {
  grpc: /^\/inference\.GRPCInferenceService\/(ServerLive|ServerReady|ServerMetadata|ModelMetadata|ModelConfig|ModelStatistics)$/,
  http: /^GET \/v2(|\/health\/(live|ready)|\/models\/stats|\/models\/[^/]+(|\/config|\/stats))$/,
};

describe('explain', () => {
  it.each(['grpc', 'http'] as const)('sends nothing but calls that read, over %s', async (protocol) => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const isGrpc = protocol === 'grpc';
    const proxy = await (isGrpc ? recordGrpc(emulator.grpcUrl) : recordHttp(emulator.httpUrl));
    onTestFinished(() => proxy.close());
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const { code, stdout } = await callCli(['explain', '-u', proxy.url, '-i', protocol, '--for', '2s']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^m: [\d.]+ requests\/s in (1\.\d|2|2\.\d) s/m);
    expect(proxy.requests).toEqual([]);
    expect(proxy.calls.length).toBeGreaterThan(4);
    expect(proxy.calls.filter((call) => !READS[protocol].test(call))).toEqual([]);
  });

  it('explains kept readings as it explained the server, and says which models had no requests', async () => {
    const emulator = await emulatorForTest({ profile: seriesProfile('busy', 'idle') });
    await othersSend('grpc', emulator.grpcUrl, 'busy', 5);
    const [directory, file] = [scratch(), join(scratch(), 'explain.json')];
    const arguments_ = ['explain', '--latency-budget', '50', '--json'];
    const live = await callCli([...arguments_, file, '-u', emulator.grpcUrl, '--for', '2s', '--save', directory]);
    expect(live.stdout).toMatch(/^busy: /m);
    expect(live.stdout).toMatch(/^ {2}ceiling .* requests\/s with p99 within 50 ms \(.* to .*\): .* times today's$/m);
    expect(live.stdout).toMatch(/^without requests: idle$/m);
    const document = explanationSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(document.models.map(({ model }) => model)).toEqual(['busy']);
    const again = join(scratch(), 'again.json');
    const offline = await callCli([...arguments_, again, '--from', directory]);
    expect(offline.stdout).toBe(live.stdout);
    expect(JSON.parse(readFileSync(again, 'utf8'))).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });

  it('explains saved pages of metrics, beside the configs of the models', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const directory = scratch();
    const explained = () => callCli(['explain', '--from', directory, '--latency-budget', '50']);
    const savePage = async (name: string): Promise<void> => {
      const page = await fetch(emulator.metricsUrl);
      writeFileSync(join(directory, name), await page.text());
    };
    const startedAt = 1_764_580_000;
    await savePage(`${startedAt}.prom`);
    expect(await explained()).toMatchObject({ code: 2, stderr: expect.stringContaining('two pages of metrics') });
    for (let index = 1; index < 5; index++) {
      await new Promise((resume) => setTimeout(resume, 300));
      await savePage(`${startedAt + index}.prom`);
    }
    const without = await explained();
    expect(without).toMatchObject({ code: 0, stdout: expect.stringContaining('no model had a request') });
    expect(without.stderr).toContain(`left out, as their configs are not in ${directory}: m`);
    const config = await fetch(`http://${emulator.httpUrl}/v2/models/m/config`);
    writeFileSync(join(directory, 'm.json'), await config.text());
    const { stdout, stderr } = await explained();
    // By the names of the pages: five of them, a second apart.
    expect(stdout).toMatch(/^m: [\d.,]+ requests\/s in 4 s/m);
    expect(stdout).toMatch(/^ {2}ceiling .* requests\/s with p99 within 50 ms/m);
    expect(stderr).toContain('no executions by batch size');
  });

  it('takes exact arrivals from traces of all requests, and refuses those of a sample', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const [directory, trace] = [scratch(), join(scratch(), 'trace.json')];
    const live = await callCli(['explain', '-u', emulator.grpcUrl, '--for', '3s', '--save', directory]);
    const perSecond = Number(/^m: ([\d,.]+) requests/m.exec(live.stdout)?.[1]?.replaceAll(',', ''));
    const writeTrace = (rate: number, model = 'm'): void =>
      writeFileSync(
        trace,
        JSON.stringify(
          Array.from({ length: 400 }, (_, index) => {
            const ns = 1e9 + Math.round(((4 * Math.floor(index / 4)) / rate) * 1e9);
            const timestamps = [
              { name: 'REQUEST_START', ns },
              { name: 'REQUEST_END', ns: ns + 1e6 },
            ];
            return { id: index + 1, model_name: model, model_version: 1, timestamps };
          }),
        ),
      );
    const explained = () => callCli(['explain', '--from', directory, '--trace-file', trace]);
    writeTrace(perSecond);
    const { code, stdout, stderr } = await explained();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^m: .* in bursts$/m);
    writeTrace(perSecond / 10);
    expect(await explained()).toMatchObject({ code: 2, stderr: expect.stringContaining('(trace_rate 1)') });
    writeTrace(perSecond, 'other');
    const without = await explained();
    expect(without.stderr).toContain("the traces have too few requests to 'm': 0");
    expect(without.stdout).toBe(live.stdout);
  });

  it('refuses what it cannot read, by name', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const refused = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await callCli(['explain', ...args]);
      expect(code).toBe(2);
      return stderr;
    };
    // At once, and not after an hour.
    expect(await refused('-u', emulator.grpcUrl, '-m', 'mm', '--for', '1h')).toContain("no model 'mm' (did you mean");
    const directory = scratch();
    expect(await refused('--from', directory)).toContain('INPUT_INVALID');
    writeFileSync(join(directory, 'observation.json'), '{"schemaVersion":1}');
    expect(await refused('--from', directory)).toMatch(/observation.json: at: /);
    expect(await refused('--from', directory, '-u', 'x:1')).toContain('--from reads a directory, so --url has no use');
  });
});

describe('observeServer', () => {
  const nothing: readonly ModelStatistics[] = [];
  const watching = (clock: VirtualClock, signal = new AbortController().signal) => ({
    clock,
    signal,
    onReading: () => undefined,
  });

  it('reads once a second, and more rarely a server that takes long to answer', async () => {
    const reads = async (takesMs: number): Promise<number> => {
      const clock = new VirtualClock();
      const statistics = async () => {
        await clock.sleep(takesMs);
        return nothing;
      };
      return (await observeServer({ statistics }, 60, watching(clock))).length;
    };
    expect(await reads(1)).toBe(61);
    expect(await reads(200)).toBeLessThan(9);
  });

  it('keeps a number of readings, however long it looks, and what idle models count only once', async () => {
    const clock = new VirtualClock();
    const idle = { success: { count: 1, ns: 2 }, fail: { count: 0, ns: 0 }, executionCount: 1, inferenceCount: 1 };
    const statistics = async () => [{ name: 'm', version: '1', ...idle } as ModelStatistics];
    const readings = await observeServer({ statistics }, 6 * 3600, watching(clock));
    expect(readings.length).toBeGreaterThan(300);
    expect(readings.length).toBeLessThanOrEqual(601);
    expect(new Set(readings.flatMap(({ statistics: each }) => each)).size).toBe(1);
    const gaps = readings.slice(1).map(({ atNs }, index) => atNs - (readings[index]?.atNs ?? 0));
    expect(Math.max(...gaps.slice(0, -1))).toBe(Math.min(...gaps.slice(0, -1)));
  });

  it('outlasts a few failures, and ends with the error of a server that stays away', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    const failing = (from: number, to: number) => ({
      statistics: async () => {
        calls += 1;
        if (calls >= from && calls < to) throw new TrituneError('SERVER_TIMEOUT', 'no answer', 'wait');
        return nothing;
      },
    });
    expect((await observeServer(failing(3, 6), 20, watching(clock))).length).toBe(18);
    calls = 0;
    await expect(observeServer(failing(3, 99), 20, watching(clock))).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
  });

  it('keeps what it has when it is interrupted, and refuses a single reading', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    let calls = 0;
    const statistics = async () => {
      calls += 1;
      if (calls === 5) controller.abort();
      return nothing;
    };
    expect((await observeServer({ statistics }, 60, watching(clock, controller.signal))).length).toBe(5);
    calls = 4;
    const once = observeServer({ statistics }, 60, watching(clock, controller.signal));
    await expect(once).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
