import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { type PerfAnalyzer, perfAnalyzer } from '../../bench/peers.ts';
import { dropIn } from '../support/cli.ts';
import { everyKindProfile } from '../support/emulator.ts';
import { realTriton } from '../support/real-triton.ts';
import { type RecordedRequest, recordGrpc, recordHttp } from '../support/recording-proxy.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** The last of an option counts in both programs. */
const QUICK = ['-p', '400', '-r', '3', '-s', '100000'];
const AT_ONCE = 3;
/** Characters of the end of a program's output that a failure shows. */
const SHOWN = 400;
const TOO_LARGE = '-m m -b 16';

/**
 * Lines of public logs and pages, with models of the emulator in place of theirs. The requests, or
 * that there are none, are to be the same.
 */
const LINES: readonly string[] = [
  '-m m',
  '-m m -b 8 --concurrency-range 1:2',
  '-m m -t 4',
  '-m m --concurrency-range 4:8:4 --percentile=95',
  '-m m --percentile=95 --concurrency=2',
  '-m m -i grpc --concurrency-range 2',
  '-m m -i gRPC --async --concurrency-range 4',
  '-m m -i http --sync',
  '-m m -x 1',
  '-m m -i grpc -x 1 -b 2',
  '-m m --measurement-mode count_windows --measurement-request-count 20',
  '-m m --request-count 16 -t 4',
  '-m m --warmup-request-count 5 --request-count 10',
  '-m m --binary-search --concurrency-range 1:4 -l 50',
  '-m m --request-rate-range 50:100:50',
  '-m m -i grpc --request-rate-range=80 --request-distribution poisson',
  '-m m --request-intervals intervals.txt',
  '-m m --max-threads 4 --concurrency-range 8 -v',
  '-m m -a --max-threads 2 -t 8',
  '-m m --shared-memory system --concurrency-range 2',
  '-m m -i grpc --shared-memory system --output-shared-memory-size 4096',
  '-m m -f out.csv --verbose-csv',
  '-m m --profile-export-file p.json',
  '-m m -H X-Tenant:a',
  '-m m -i grpc --grpc-compression-algorithm gzip',
  '-m m -i grpc --request-parameter max_tokens:10:int',
  '-m m -i grpc --request-parameter a:hello:string --request-parameter b:true:bool',
  '-m m --service-kind triton',
  '-m m --bls-composing-models second:1',
  '-m chain',
  '-m chain -b 4 -i grpc',
  '-m m --input-data zero',
  '-m m --input-data random',
  '-m m -z',
  '-m m --input-data data.json',
  '-m m -i grpc -b 2 --input-data data.json',
  '-m m --input-data shaped.json',
  '-m m --input-data b64.json',
  '-m m --input-data folder',
  '-m ids --shape input_ids:128 --shape attention_mask:128',
  '-m ids -b 4 --shape input_ids:16 --shape attention_mask:16 --input-data zero',
  '-m ids --input-data ids.json',
  '-m ids -i grpc --input-data ids.json',
  '-m text --string-length 64 --string-data x',
  '-m text --string-data hello',
  '-m text -i grpc --input-data text.json',
  '-m image -i grpc -b 2',
  '-m seq --sequence-length 3 --sequence-length-variation 0',
  '-m seq -i grpc --streaming --concurrency-range 2 --sequence-length 3 --sequence-length-variation 0',
  '-m seq --start-sequence-id 100 --sequence-id-range 100:200 --sequence-length 3 --sequence-length-variation 0',
  '-m seq --input-data seq.json',
  '-m seq --request-rate-range 40 --num-of-sequences 2 --sequence-length 3 --sequence-length-variation 0',
  '-m seq --request-rate-range 40 --num-of-sequences 2 --serial-sequences --sequence-length 3 --sequence-length-variation 0',
  '-m stream -i grpc --streaming --concurrency-range 2',
  '-m stream -i grpc --streaming --async',
  // Refused by both.
  '-m ids',
  '-m nothing',
  '-m m -b 0',
  '-m m -x 9',
  '-m m --concurrency-range 1 --request-rate-range 10',
  '-m m --streaming',
  '-m m -i tcp',
  '-m m --percentile 101',
  '-m m --input-data missing.json',
  '-m m --input-data broken.json',
  '-m m --shared-memory other',
  '-m seq -b 2',
  '--concurrency-range 2',
];

const step = (value: number): readonly number[] => Array(4).fill(value);

/** Lines that perf_analyzer refuses, or of which its first request fails. */
const MORE: Readonly<Record<string, string>> = {
  '-m m --input-data integers.json': 'unable to find float data in json',
  '-m m --request-parameter a:1:int': 'only supported by gRPC protocol',
};

async function writeFiles(folder: string): Promise<void> {
  const files: Readonly<Record<string, unknown>> = {
    'data.json': { data: [{ IN: [1.5, 2.5, 3.5, 4.5] }, { IN: [5.5, 6.5, 7.5, 8.5] }] },
    'shaped.json': { data: [{ IN: { content: [1.5, 2.5, 3.5, 4.5], shape: [4] } }] },
    'integers.json': { data: [{ IN: [1, 2, 3, 4] }] },
    'b64.json': { data: [{ IN: { b64: Buffer.from(new Float32Array([1, 2, 3, 4]).buffer).toString('base64') } }] },
    'ids.json': {
      data: [
        { input_ids: { content: [101, 7, 102], shape: [3] }, attention_mask: { content: [1, 1, 1], shape: [3] } },
        { input_ids: { content: [101, 102], shape: [2] }, attention_mask: { content: [1, 1], shape: [2] } },
      ],
    },
    'text.json': { data: [{ TEXT: ['what is it?'] }, { TEXT: ['añ'] }] },
    'seq.json': {
      data: [
        [{ IN: step(1.5) }, { IN: step(2.5) }],
        [{ IN: step(3.5) }, { IN: step(4.5) }],
      ],
    },
  };
  for (const [name, document] of Object.entries(files)) await writeFile(join(folder, name), JSON.stringify(document));
  await writeFile(join(folder, 'broken.json'), '{"data": [{"IN": [1, 2');
  await writeFile(join(folder, 'intervals.txt'), '10000\n20000\n');
  await mkdir(join(folder, 'folder'));
  await writeFile(join(folder, 'folder', 'IN'), Buffer.from(new Float32Array([9, 8, 7, 6]).buffer));
}

function everyInputProfile(): EmulatorProfile {
  const profile = everyKindProfile();
  const [m] = profile.models;
  const output = [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }];
  const model = (name: string, input: readonly object[]) => ({ ...m, config: { ...m?.config, name, input, output } });
  return emulatorSchema.parse({
    ...profile,
    models: [
      ...profile.models,
      model('text', [{ name: 'TEXT', data_type: 'TYPE_STRING', dims: [1] }]),
      model('image', [{ name: 'IMAGE', data_type: 'TYPE_UINT8', dims: [3, 32, 32] }]),
      model('ids', [
        { name: 'input_ids', data_type: 'TYPE_INT64', dims: [-1] },
        { name: 'attention_mask', data_type: 'TYPE_INT64', dims: [-1] },
      ]),
    ],
  });
}

interface Played {
  readonly isRefused: boolean;
  readonly output: string;
  readonly requests: readonly RecordedRequest[];
}

describe('the drop-in sends what perf_analyzer sends', () => {
  const played = new Map<string, { readonly theirs: Played; readonly ours: Played }>();
  let peer: PerfAnalyzer;

  const playedOf = (line: string) => {
    const both = played.get(line);
    if (!both) throw new Error(`${line} was not played`);
    return both;
  };
  const formatOutputs = (line: string): string =>
    Object.entries(playedOf(line))
      .map(([name, { output }]) => `${name}: ${output.slice(-SHOWN)}`)
      .join('\n');

  async function play(file: string, args: readonly string[]): Promise<Played> {
    const emulator = await startEmulator({ profile: everyInputProfile() });
    const isGrpc = args.some((each) => /^grpc$/i.test(each));
    const proxy = isGrpc ? await recordGrpc(emulator.grpcUrl) : await recordHttp(emulator.httpUrl);
    const cwd = await freshDirectory();
    await writeFiles(cwd);
    try {
      const env = { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory };
      return await new Promise((done) => {
        execFile(file, [...args, '-u', proxy.url], { cwd, env, timeout: 60_000 }, (error, stdout, stderr) =>
          done({ isRefused: error !== null, output: stdout + stderr, requests: [...proxy.requests] }),
        );
      });
    } finally {
      proxy.close();
      await emulator.close();
    }
  }

  beforeAll(async () => {
    peer = await perfAnalyzer(await realTriton());
    const waiting = [...LINES, ...Object.keys(MORE), TOO_LARGE];
    const next = async (): Promise<void> => {
      for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
        const args = [...line.split(' '), ...QUICK];
        const theirs = await play(peer.file, args);
        played.set(line, { theirs, ours: await play(process.execPath, [dropIn, ...args]) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }, 900_000);

  it.each(LINES)('%s', (line) => {
    const { theirs, ours } = playedOf(line);
    const hasValues = /--input-data (zero|.*\.|folder)/.test(line);
    const [expected, sent] = [listForms(theirs, hasValues), listForms(ours, hasValues)];
    expect(sent, formatOutputs(line)).toEqual(expected);
    // On a busy machine perf_analyzer may find too few requests in a window, and fail.
    if (sent.length === 0) expect([theirs.isRefused, ours.isRefused]).toEqual([true, true]);
  });

  it.each(Object.entries(MORE))('%s, which it does not take', (line, why) => {
    const { theirs, ours } = playedOf(line);
    expect(theirs).toMatchObject({ isRefused: true, output: expect.stringContaining(why) });
    expect(ours.isRefused).toBe(false);
    expect(listForms(ours, false)).toHaveLength(1);
  });

  it('and both refuse a batch that the model does not take, one of them by asking the server', () => {
    const { theirs, ours } = playedOf(TOO_LARGE);
    expect([theirs.isRefused, ours.isRefused]).toEqual([true, true]);
    expect(ours).toMatchObject({ output: expect.stringContaining('larger than the max_batch_size'), requests: [] });
  });
});

/** The different requests, as texts; values only if the line states them. */
const listForms = ({ requests }: Played, hasValues: boolean): readonly string[] => {
  const toForm = ({ inputs, ...rest }: RecordedRequest): string =>
    JSON.stringify({ ...rest, inputs: hasValues ? inputs : inputs.map(({ digest: _, ...others }) => others) });
  return [...new Set(requests.map(toForm))].sort();
};
