import { Client, credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';

interface Flags {
  readonly start?: boolean;
  readonly end?: boolean;
}

async function start(sequence_batching: object, instances = 1) {
  const { grpcUrl } = await emulatorForTest({ profile: everyKindProfile({ sequence_batching, instances }) });
  const calls = new Client(grpcUrl, credentials.createInsecure());
  const control = connectGrpc(grpcUrl);
  onTestFinished(async () => {
    calls.close();
    await control.close();
  });
  const { path, requestType } = serviceMethod('ModelInfer');
  const bytes = (id: number | string, flags: Flags, batch: number): Buffer => {
    const message = requestType.fromObject({
      model_name: 'seq',
      parameters: {
        sequence_id: typeof id === 'number' ? { int64_param: id } : { string_param: id },
        sequence_start: { bool_param: flags.start === true },
        sequence_end: { bool_param: flags.end === true },
      },
      inputs: [{ name: 'IN', datatype: 'FP32', shape: [batch, 4] }],
      raw_input_contents: [Buffer.alloc(16 * batch)],
    });
    return Buffer.from(requestType.encode(message).finish());
  };
  const pass = (buffer: Buffer): Buffer => buffer;
  /** 'ok', or the words of the refusal. */
  const send = (id: number | string, flags: Flags = {}, batch = 1): Promise<string> =>
    new Promise((resolve) => {
      calls.makeUnaryRequest(path, pass, pass, bytes(id, flags, batch), { deadline: Date.now() + 10_000 }, (error) =>
        resolve(error ? error.details : 'ok'),
      );
    });
  return { send, control };
}

const noStart = (id: number | string): string =>
  `inference request for sequence ${id} to model 'seq' must specify the START flag on the first request of the sequence`;

it('takes a sequence from its start to its end, under an id that is a number or a text', async () => {
  const { send } = await start({ direct: {} });
  for (const id of [7, 'seven']) {
    expect(await send(id)).toBe(noStart(id));
    expect(await send(id, { start: true })).toBe('ok');
    expect(await send(id)).toBe('ok');
    expect(await send(id, { end: true })).toBe('ok');
    expect(await send(id)).toBe(noStart(id));
    expect(await send(id, { start: true, end: true })).toBe('ok');
  }
});

it('refuses requests without an id and larger ones than a sample', async () => {
  const { send } = await start({ direct: {} });
  const noId = "inference request to model 'seq' must specify a non-zero or non-empty correlation ID";
  expect(await send(0, { start: true })).toBe(noId);
  expect(await send('', { start: true })).toBe(noId);
  expect(await send(1, { start: true }, 2)).toBe(
    "inference request to model 'seq' must specify batch-size 1 due to requirements of sequence batcher",
  );
});

it('runs the requests of one sequence one at a time, and those of several together', async () => {
  const { send, control } = await start({ oldest: { max_candidate_sequences: 4 } });
  await send(1, { start: true });
  expect(await Promise.all([send(1), send(1), send(1)])).toEqual(['ok', 'ok', 'ok']);
  const sizes = async () => (await control.statistics('seq'))[0]?.batchStats.map(({ batchSize }) => batchSize);
  expect(await sizes()).toEqual([1]);
  await Promise.all([2, 3, 4].map((id) => send(id, { start: true })));
  for (let round = 0; round < 20 && !(await sizes())?.includes(2); round++)
    await Promise.all([1, 2, 3, 4].map((id) => send(id)));
  expect(await sizes()).toEqual([1, 2]);
});

it.each([
  ['direct', { direct: {} }, 1, 2],
  ['direct on two instances', { direct: {} }, 2, 4],
  ['oldest', { oldest: { max_candidate_sequences: 3 } }, 1, 3],
])('lets a sequence wait for a slot: %s', async (_, batching, instances, slots) => {
  const { send } = await start({ ...batching, max_sequence_idle_microseconds: 60_000_000 }, instances);
  for (let id = 1; id <= slots; id++) expect(await send(id, { start: true })).toBe('ok');
  let answered = false;
  const waiting = send('late', { start: true }).then((answer) => {
    answered = true;
    return answer;
  });
  // An answered request to another sequence comes after the late one's.
  for (let round = 0; round < 3; round++) expect(await send(1)).toBe('ok');
  expect(answered).toBe(false);
  expect(await send(1, { end: true })).toBe('ok');
  expect(await waiting).toBe('ok');
});

it('forgets a sequence that idles, and gives its slot to one that waits', async () => {
  const { send } = await start({ direct: {}, max_sequence_idle_microseconds: 100_000 });
  await Promise.all([1, 2].map((id) => send(id, { start: true })));
  expect(await send(3, { start: true })).toBe('ok');
  expect(await send(1)).toBe(noStart(1));
});
