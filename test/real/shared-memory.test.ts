import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { prepareInputs } from '#loadgen/inputs.ts';
import { replyCheck } from '#loadgen/reply-check.ts';
import { openRegions } from '#loadgen/shared-memory/open-regions.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';
import { ownObjects, sharedMemorySuite } from '../support/shared-memory-suite.ts';
import { sendMany } from '../support/transport-suite.ts';
import { spaceFile } from './spaces.ts';

const { grpcUrl, httpUrl, metricsUrl } = inject('realServer');
const urls = { grpc: grpcUrl, http: httpUrl };

sharedMemorySuite('shared memory with a real Triton', {
  memory: { kind: 'system' },
  start: async () => ({
    client: connectGrpc(grpcUrl),
    urls,
    model: 'sleeper',
    answer: (value) => value,
    streams: true,
  }),
});

describe('shared memory with a real Triton', () => {
  const client = connectGrpc(grpcUrl);
  beforeAll(() => client.load('every_type'));
  afterAll(async () => {
    await client.unload('every_type');
    await client.close();
  });

  it.each(['grpc', 'http'] as const)('takes every data type, and optional inputs, over %s', async (protocol) => {
    const [metadata, config] = [await client.modelMetadata('every_type'), await client.modelConfig('every_type')];
    const all = Object.fromEntries(metadata.inputs.map(({ name }) => [name, [3, 2]]));
    for (const shapes of [all, { BYTES: [1, 2], FP16: [1, 2] }]) {
      const set = prepareInputs(metadata, config, { batch: 3, seed: 1, kind: 'random', shapes, isShared: true });
      const requests = {
        ...set,
        requests: set.requests.map((request) => ({
          ...request,
          expected: [request.inputs.map((input) => ({ ...input, name: `${input.name}_BACK` }))],
        })),
      };
      const regions = await openRegions(client, { inputs: [set], config, maxInFlight: 8, unknownOutputBytes: 4000 });
      const common = { url: urls[protocol], timeoutMs: 10_000, sharedOutputs: regions.outputs };
      const transport = openTransport(protocol, { ...common, check: replyCheck(0) });
      try {
        const [request] = regions.placed(requests).requests;
        expect(await sendMany(transport, request as never, 8)).toEqual(Array(8).fill({ ok: true }));
      } finally {
        await transport.close();
        await regions.close();
      }
    }
  });
});

describe('tune with shared memory', () => {
  const client = connectGrpc(grpcUrl);
  afterAll(() => client.close());
  const ours = async () => (await client.sharedMemoryRegions()).filter(({ name }) => name.startsWith('tritune-'));
  const args = async (output: string, ...more: string[]) => [
    ...['tune', '-m', 'sleeper', '--metrics-url', metricsUrl, '-o', output, '--sampler', 'grid'],
    ...['--space', await spaceFile('sleeper'), '--concurrency', '8:16', ...more],
  ];

  it.each([
    ['SIGINT', 'grpc'],
    ['SIGTERM', 'http'],
  ] as const)('measures over it and leaves nothing after %s, over %s', async (signal, protocol) => {
    const output = await freshDirectory();
    const way = ['-i', protocol, '-u', urls[protocol], '--control-url', grpcUrl, '--shared-memory', 'system'];
    const running = startCli(await args(output, ...way, '--precision', '0.01'));
    await untilRecorded(output, running, ({ type }) => type === 'trial-measured');
    expect(await ours()).toHaveLength(2);
    expect(ownObjects(running.child.pid)).toHaveLength(2);
    running.child.kill(signal);
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await ours()).toEqual([]);
    expect(ownObjects(running.child.pid)).toEqual([]);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured[0]?.measurement.throughput.value).toBeGreaterThan(0);
    expect(measured.flatMap(({ measurement }) => measurement.failures)).toEqual([]);
  });

  it('says why it cannot have that of a CUDA device', async () => {
    const output = join(await freshDirectory(), 'run');
    const outcome = await runCli(await args(output, '-u', grpcUrl, '--shared-memory', 'cuda'));
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('--shared-memory system') });
  });
});
