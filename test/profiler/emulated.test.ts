import { expect, it, onTestFinished } from 'vitest';
import { openAlarm } from '#base/alarm.ts';
import { realClock } from '#base/clock.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { metricsProbe } from '#profiler/devices/device-probe.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

it.each(['grpc', 'http'] as const)('measures the emulated law over real sockets: %s', async (protocol) => {
  const emulator = await emulatorForTest({ profile: smallProfile({ a: 8, b: 0.5 }) });
  const client = connectHttp(emulator.httpUrl, {});
  const url = protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl;
  const transport = openTransport(protocol, { url, timeoutMs: 5000 });
  onTestFinished(async () => {
    await transport.close();
    await client.close();
  });
  const [metadata, config] = [await client.modelMetadata('m'), await client.modelConfig('m')];
  const requests = prepareInputs(metadata, config, { batch: 2, seed: 1, kind: 'random' });
  const measure = (concurrency: number) =>
    measureLevel({
      transport,
      requests,
      level: { mode: 'concurrency', value: concurrency },
      stats: client,
      clock: realClock,
      signal: new AbortController().signal,
      percentile: 90,
      precision: 0.2,
      deviceProbe: metricsProbe(emulator.metricsUrl, 'm'),
      windows: { minWindows: 2, maxWindows: 4, minRequests: 20 },
    });
  const measurement = await measure(2);
  // One instance and no dynamic batching: the server's own count of executions is the known truth.
  const execution = measurement.server?.batches[0];
  expect(execution?.size).toBe(2);
  expect(measurement).toMatchObject({ failures: [], errorRate: 0 });
  expect(measurement.foreignRequests).toBeUndefined();
  const lawThroughput = 2 / 0.009;
  expect(measurement.throughput.value / lawThroughput).toBeLessThan(1.05);
  // Little's law, on a busy machine too: two requests are in flight, but for the time that the
  // client takes between them.
  const inFlight = (measurement.throughput.value / 2) * (measurement.latencyMs.avg / 1000);
  expect(inFlight).toBeGreaterThan(1.8);
  expect(inFlight).toBeLessThan(2.05);
  expect((measurement.server?.inferenceCount as number) / (2 * measurement.requests)).toBeGreaterThan(0.9);
});

it('keeps a request rate over real sockets, on time', async () => {
  const emulator = await emulatorForTest({ profile: smallProfile({ a: 4, b: 0.5 }) });
  const client = connectHttp(emulator.httpUrl, {});
  const transport = openTransport('grpc', { url: emulator.grpcUrl, timeoutMs: 5000 });
  const alarm = openAlarm();
  onTestFinished(async () => {
    await alarm.close();
    await transport.close();
    await client.close();
  });
  const [metadata, config] = [await client.modelMetadata('m'), await client.modelConfig('m')];
  const measurement = await measureLevel({
    transport,
    requests: prepareInputs(metadata, config, { batch: 1, seed: 1, kind: 'random' }),
    level: { mode: 'request-rate', value: 100 },
    stats: client,
    clock: realClock,
    alarm,
    signal: new AbortController().signal,
    percentile: 99,
    precision: 0.2,
    windows: { minWindows: 2, maxWindows: 4, minRequests: 20 },
  });
  expect(measurement).toMatchObject({ failures: [], openLoop: { droppedSends: 0 } });
  const { achievedRate = 0, scheduledLatencyMs } = measurement.openLoop ?? {};
  expect(achievedRate / 100).toBeGreaterThan(0.9);
  expect(achievedRate / 100).toBeLessThan(1.1);
  expect(scheduledLatencyMs?.avg).toBeGreaterThanOrEqual(measurement.latencyMs.avg);
});
