import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import type { InferRequest } from '#loadgen/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { emulatorForTest, everyKindProfile, smallProfile } from '../support/emulator.ts';
import { ensembleControlSuite } from '../support/ensemble-control-suite.ts';
import { ensembleLoadsSuite } from '../support/ensemble-loads-suite.ts';
import { fp32Input, grpcInferClient } from '../support/infer-clients.ts';
import { sendMany } from '../support/transport-suite.ts';

async function start() {
  const emulator = await emulatorForTest({ profile: everyKindProfile() });
  const control = connectGrpc(emulator.grpcUrl);
  const traffic = grpcInferClient(emulator.grpcUrl);
  onTestFinished(() => Promise.all([control.close(), traffic.close()]).then(() => undefined));
  const http = async (method: 'GET' | 'POST', path: string, body?: object): Promise<[number, unknown]> => {
    const response = await request(`http://${emulator.httpUrl}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return [response.statusCode, text.startsWith('{') ? JSON.parse(text) : text];
  };
  const infer = (model: string, batch = 1) => traffic.infer(model, [fp32Input([batch, 4])]);
  return { emulator, control, infer, http };
}

describe('ensembles', () => {
  it('run through their models, and count what those took', async () => {
    const { control, infer } = await start();
    expect(await infer('chain', 3)).toMatchObject({ status: 0, outputs: [{ name: 'OUT', shape: [3, 4] }] });
    const [of, m, second] = await Promise.all(['chain', 'm', 'second'].map((name) => control.statistics(name)));
    expect([of?.[0]?.inferenceCount, m?.[0]?.inferenceCount, second?.[0]?.inferenceCount]).toEqual([3, 3, 3]);
    expect(of?.[0]?.queue).toEqual({ count: 1, ns: 0 });
    const sum = (m?.[0]?.computeInfer.ns ?? 0) + (second?.[0]?.computeInfer.ns ?? 0);
    expect(Math.abs((of?.[0]?.computeInfer.ns ?? 0) - sum)).toBeLessThanOrEqual(2);
    expect(of?.[0]?.success.ns).toBeGreaterThanOrEqual(sum);
  });

  it('name themselves when one of their models refuses', async () => {
    const { control, infer } = await start();
    const batching = { default_queue_policy: { max_queue_size: 1 } };
    await control.load('m', { ...(await control.modelConfig('m')), max_batch_size: 8, dynamic_batching: batching });
    const answers = await Promise.all(Array.from({ length: 20 }, () => infer('chain', 8)));
    expect(answers.map(({ message }) => message)).toContain(
      "in ensemble 'chain', [request id: <id_unknown>] Exceeds maximum queue size",
    );
  });

  it('go with their models and come back with them', async () => {
    const { control, infer } = await start();
    const ready = () => Promise.all(['m', 'second', 'chain'].map((name) => control.modelReady(name)));
    await control.unload('second');
    expect(await ready()).toEqual([true, false, false]);
    expect((await infer('chain')).message).toBe("Request for unknown model: 'chain' has no available versions");
    await control.load('second');
    expect(await ready()).toEqual([true, true, true]);
    await control.unload('chain');
    await control.unload('second');
    await control.load('chain');
    expect(await ready()).toEqual([true, true, true]);
  });

  it('show a config without instances', async () => {
    const { control, http } = await start();
    const config: ModelConfig = await control.modelConfig('chain');
    expect(config).toMatchObject({ platform: 'ensemble', max_batch_size: 8 });
    expect(config.instance_group).toBeUndefined();
    const [, metadata] = await http('GET', '/v2/models/chain');
    expect(metadata).toMatchObject({ platform: 'ensemble' });
  });
});

const startEnsemble = async () => {
  const { control, infer } = await start();
  const send = async (): Promise<string> => (await infer('chain')).message;
  return { client: control, infer: send, ensemble: 'chain', member: 'second', neighbour: 'm', stranger: 'seq' };
};

ensembleLoadsSuite('an ensemble on the emulator', startEnsemble);
ensembleControlSuite('a pipeline on the emulator', startEnsemble);

describe('decoupled models', () => {
  const tensor = { name: 'IN', datatype: 'FP32', shape: [4], raw: new Uint8Array(16) };
  const ask: InferRequest = { model: 'stream', version: '', batch: 1, inputs: [tensor] };

  it('answer a request several times on a stream, many at once', async () => {
    const { emulator } = await start();
    const streams = openGrpcStream({ url: emulator.grpcUrl, timeoutMs: 10_000 });
    onTestFinished(() => streams.close());
    expect(await sendMany(streams, ask, 20)).toEqual(Array(20).fill({ ok: true, responses: 3 }));
    const [failed] = await sendMany(streams, { ...ask, model: 'nothing' });
    expect(failed).toMatchObject({ ok: false, message: "Request for unknown model: 'nothing' is not found" });
    expect(await sendMany(streams, { ...ask, model: 'm', inputs: [{ ...tensor, shape: [1, 4] }] })).toEqual([
      { ok: true, responses: 1 },
    ]);
  });

  it('end their stream with the status of the first error, when asked to', async () => {
    const { emulator } = await start();
    const client = new Client(emulator.grpcUrl, credentials.createInsecure());
    onTestFinished(() => client.close());
    const { path, requestType } = serviceMethod('ModelStreamInfer');
    const pass = (bytes: Buffer): Buffer => bytes;
    const metadata = new Metadata();
    metadata.set('triton_grpc_error', 'true');
    const call = client.makeBidiStreamRequest(path, pass, pass, metadata, { deadline: Date.now() + 10_000 });
    const status = new Promise((resolve) => call.once('error', resolve));
    call.write(Buffer.from(requestType.encode(requestType.fromObject({ model_name: 'nothing' })).finish()));
    expect(await status).toMatchObject({ code: 5, details: "Request for unknown model: 'nothing' is not found" });
  });

  it('generate over HTTP as events', async () => {
    const { http } = await start();
    const event = 'data: {"OUT":[0,0,0,0],"model_name":"stream","model_version":"1"}\n\n';
    expect(await http('POST', '/v2/models/stream/generate_stream', { IN: [1, 2, 3, 4] })).toEqual([
      200,
      event.repeat(3),
    ]);
    expect(await http('POST', '/v2/models/m/generate', { IN: [1, 2, 3, 4] })).toEqual([
      200,
      { OUT: [0, 0, 0, 0], model_name: 'm', model_version: '1' },
    ]);
    expect(await http('POST', '/v2/models/stream/generate', { IN: [1, 2, 3, 4] })).toEqual([
      200,
      { error: expect.stringContaining('exactly 1 response') },
    ]);
  });
});

describe('uploaded files', () => {
  it('make their versions the only ones, until a load without them', async () => {
    const { control, http } = await start();
    const config = JSON.stringify(await control.modelConfig('m'));
    const load = (parameters: object) => http('POST', '/v2/repository/models/m/load', { parameters });
    expect(await load({ 'file:1/model.py': '' })).toEqual([
      500,
      { error: "failed to load 'm', failed to poll from model repository" },
    ]);
    expect(await load({ config, 'file:model.py': '' })).toEqual([
      400,
      { error: expect.stringContaining('at least one version must be available under the version policy') },
    ]);
    await load({ config, 'file:4/model.py': '', 'file:12/model.py': '' });
    expect((await control.modelMetadata('m')).versions).toEqual(['12']);
    expect((await control.index()).filter(({ name }) => name === 'm')).toEqual([
      { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
      { name: 'm', version: '12', state: 'READY', reason: '' },
    ]);
    await load({});
    expect((await control.modelMetadata('m')).versions).toEqual(['1']);
  });
});

describe('settings over HTTP', () => {
  it('trace: those of a model over those of the server, null to clear', async () => {
    const { http } = await start();
    const path = '/v2/trace/setting';
    const own = '/v2/models/m/trace/setting';
    const server = {
      trace_level: ['OFF'],
      trace_rate: '1000',
      trace_count: '-1',
      log_frequency: '0',
      trace_file: '',
      trace_mode: 'triton',
    };
    expect(await http('GET', path)).toEqual([200, server]);
    await http('POST', path, { trace_rate: '7', log_frequency: '3' });
    await http('POST', own, { trace_rate: '9', what: 'ever' });
    const changed = { ...server, trace_rate: '7', log_frequency: '3' };
    expect(await http('GET', path)).toEqual([200, changed]);
    expect(await http('GET', own)).toEqual([200, { ...changed, trace_rate: '9' }]);
    expect(await http('POST', own, { trace_rate: null })).toEqual([200, changed]);
  });

  it.each([
    ['/v2/trace/setting', { trace_file: 'x' }, 501, 'trace file location can not be updated through network protocol'],
    ['/v2/trace/setting', { trace_level: 5 }, 500, 'attempt to access JSON non-array as array'],
    ['/v2/trace/setting', { trace_rate: 'abc' }, 400, "Unable to parse 'trace_rate', got: abc"],
    ['/v2/trace/setting', { trace_count: '-2' }, 400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"],
    ['/v2/models/nope/trace/setting', {}, 400, 'Request for unknown model : nope'],
    ['/v2/logging', { log_file: 'x' }, 501, 'log file location can not be updated through network protocol'],
    ['/v2/logging', { log_info: 'x' }, 500, 'attempt to access JSON non-boolean as boolean'],
    ['/v2/logging', { log_verbose_level: -1 }, 500, 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
    ['/v2/logging', { log_format: 'FOO' }, 503, 'invalid argument for --log_format, got: FOO'],
  ])('%s refuses %j', async (path, body, status, error) => {
    expect(await (await start()).http('POST', path, body)).toEqual([status, { error }]);
  });

  it('log: what was set is read back', async () => {
    const { http } = await start();
    const set = { log_verbose_level: 2, log_info: false, log_format: 'ISO8601', what: 'ever' };
    const after = { log_file: '', log_warning: true, log_error: true, ...set, what: undefined };
    expect((await http('POST', '/v2/logging', set))[1]).toEqual(JSON.parse(JSON.stringify(after)));
    expect((await http('GET', '/v2/logging'))[1]).toEqual(JSON.parse(JSON.stringify(after)));
  });
});

it('has all families of metrics', async () => {
  const { emulator } = await start();
  const text = await (await request(emulator.metricsUrl)).body.text();
  expect(text).toContain('nv_inference_request_failure{model="chain",reason="REJECTED",version="1"} 0');
  expect(text).toContain('nv_pinned_memory_pool_total_bytes 268435456');
  expect(text).toContain('nv_inference_pending_request_count{model="m",version="1"} 0');
});

it('refuses what finds the queue full', async () => {
  const profile = smallProfile({
    a: 50,
    config: { dynamic_batching: { default_queue_policy: { max_queue_size: 2 } }, max_batch_size: 1 },
  });
  const { grpcUrl } = await emulatorForTest({ profile });
  const traffic = grpcInferClient(grpcUrl);
  onTestFinished(() => traffic.close());
  const answers = await Promise.all(Array.from({ length: 6 }, () => traffic.infer('m', [fp32Input([1, 4])])));
  const refused = answers.filter(({ status }) => status === 14);
  expect(refused).toHaveLength(3);
  for (const { message } of refused) expect(message).toBe('[request id: <id_unknown>] Exceeds maximum queue size');
});
