import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import { configDocuments } from '#adapter/triton/documents.ts';
import { createAccuracyGuard } from '#adapter/variants/accuracy-guard.ts';
import { type Artifacts, createArtifacts } from '#adapter/variants/artifacts.ts';
import { cacheDirectory, formatLog, hashSha256 } from '#adapter/variants/cache.ts';
import { artifactsIn, withKnownBuilds } from '#adapter/variants/known-builds.ts';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import type { Artifact } from '#space/artifact.ts';
import { toArtifact } from '#space/artifact.ts';
import { buildCandidate } from '#space/candidate.ts';
import { listDifferences } from '#space/differences.ts';
import { toCandidate, toModelConfig, toOriginal } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import type { Candidate, SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';

const never = new AbortController().signal;
const config: ModelConfig = {
  name: 'mlp',
  backend: 'onnxruntime',
  max_batch_size: 8,
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
  instance_group: [{ count: 1, kind: 'KIND_CPU' }],
};

const onGpu = { ...config, instance_group: [{ count: 1, kind: 'KIND_GPU' }] };

let folder: string;
let cache: string;
let artifacts: Artifacts;
let builds: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tritune-variants-'));
  cache = join(folder, 'cache');
  builds = [];
  artifacts = createArtifacts({ clock: realClock, cache, onBuild: (variant) => builds.push(variant) });
});

async function spaceOf(yaml: string, files: Readonly<Record<string, string>> = {}): Promise<SearchSpace> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  await writeFile(join(folder, 'space.yaml'), yaml);
  return loadSpace('space.yaml', { directory: folder });
}

function candidateIn(space: SearchSpace, variant: string, base: Candidate = toOriginal(config)): Candidate {
  const outcome = buildCandidate(space, base, { variant });
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
}

const artifactIn = (space: SearchSpace, variant: string): Artifact =>
  toArtifact(candidateIn(space, variant)) as Artifact;

const textsOf = async (artifact: Artifact): Promise<Record<string, string>> => {
  const { files } = await artifacts.prepareFiles(artifact, never);
  return Object.fromEntries([...files].map(([place, bytes]) => [place, Buffer.from(bytes).toString()]));
};

describe('a build', () => {
  const yaml = (script: string, more = ''): string =>
    `variants:\n  int8:\n    build:\n      command: ${JSON.stringify(script)}\n${more}`;

  it('runs once, and is found in the cache by other studies', async () => {
    const script = 'mkdir -p $TRITUNE_OUTPUT/1 && cat in.txt > $TRITUNE_OUTPUT/1/model.onnx';
    const artifact = artifactIn(await spaceOf(yaml(script), { 'in.txt': 'eight' }), 'int8');
    const first = await artifacts.prepareFiles(artifact, never);
    expect(first.buildMs).toBeGreaterThan(0);
    expect(await textsOf(artifact)).toEqual({ '1/model.onnx': 'eight' });
    artifacts = createArtifacts({ clock: realClock, cache, onBuild: (variant) => builds.push(variant) });
    expect((await artifacts.prepareFiles(artifact, never)).buildMs).toBe(0);
    expect(builds).toEqual(['int8']);
  });

  it('is another one when a file that the command names has changed, and the same in another folder', async () => {
    const script = 'cat in.txt > $TRITUNE_OUTPUT/x';
    const before = artifactIn(await spaceOf(yaml(script), { 'in.txt': 'a' }), 'int8').digest;
    const after = artifactIn(await spaceOf(yaml(script), { 'in.txt': 'b' }), 'int8').digest;
    expect(after).not.toBe(before);
    folder = await mkdtemp(join(tmpdir(), 'tritune-variants-'));
    expect(artifactIn(await spaceOf(yaml(script), { 'in.txt': 'a' }), 'int8').digest).toBe(before);
  });

  it('is made again where the cache was changed', async () => {
    const artifact = artifactIn(
      await spaceOf(yaml('mkdir $TRITUNE_OUTPUT/1; echo -n x > $TRITUNE_OUTPUT/1/m')),
      'int8',
    );
    await artifacts.prepareFiles(artifact, never);
    await writeFile(join(cache, artifact.digest.slice(0, 32), 'output', '1', 'm'), 'damaged');
    expect(await textsOf(artifact)).toEqual({ '1/m': 'x' });
    expect(builds).toHaveLength(2);
  });

  it('that fails says how, with the end of its log, and is not run again by the study', async () => {
    const artifact = artifactIn(await spaceOf(yaml('echo one; echo no such opset >&2; exit 3')), 'int8');
    const failure = {
      kind: 'build-failed',
      serverMessage: expect.stringContaining('ended with code 3: one | no such opset'),
    };
    await expect(artifacts.prepareFiles(artifact, never)).rejects.toMatchObject(failure);
    await expect(artifacts.prepareFiles(artifact, never)).rejects.toMatchObject(failure);
    expect(builds).toHaveLength(1);
    expect(await readFile(formatLog(cache, artifact), 'utf8')).toContain('no such opset');
  });

  it('is not made from inputs that have changed since the study began', async () => {
    const space = await spaceOf(yaml('mkdir $TRITUNE_OUTPUT/1; cp in.txt $TRITUNE_OUTPUT/1/m'), { 'in.txt': 'before' });
    await writeFile(join(folder, 'in.txt'), 'after');
    await expect(artifacts.prepareFiles(artifactIn(space, 'int8'), never)).rejects.toMatchObject({
      serverMessage: expect.stringContaining('in.txt has changed since the study began'),
    });
    expect(builds).toEqual([]);
  });

  it('that takes too long is ended with all that it started', async () => {
    const slow = yaml('sleep 60 & echo $! > pid; wait', '      timeout: 0.3\n');
    const artifact = artifactIn(await spaceOf(slow), 'int8');
    const failure = { kind: 'build-failed', serverMessage: expect.stringContaining('took longer than 0.3 s') };
    await expect(artifacts.prepareFiles(artifact, never)).rejects.toMatchObject(failure);
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('ends with the study that is interrupted', async () => {
    const artifact = artifactIn(await spaceOf(yaml('sleep 60')), 'int8');
    const stop = new AbortController();
    const asked = artifacts.prepareFiles(artifact, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(asked).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });

  it('is told what a command wrote where that is no version', async () => {
    const artifact = artifactIn(await spaceOf(yaml('touch $TRITUNE_OUTPUT/model.onnx')), 'int8');
    await expect(artifacts.prepareFiles(artifact, never)).rejects.toMatchObject({
      serverMessage: expect.stringContaining('the build command wrote model.onnx'),
    });
  });

  it('puts its outputs where they are asked for, and costs nothing when it is there already', async () => {
    const space = await spaceOf(
      'variants:\n  int8:\n    files: { 1/labels.txt: labels.txt }\n    build:\n' +
        '      command: [cp, labels.txt, $TRITUNE_OUTPUT/engine]\n      outputs: { 2/model.plan: engine }\n      seconds: 90\n',
      { 'labels.txt': 'cat' },
    );
    expect(candidateIn(space, 'int8').shape.preparation).toMatchObject({ name: 'int8', seconds: 90 });
    expect(await textsOf(artifactIn(space, 'int8'))).toEqual({ '2/model.plan': 'cat', '1/labels.txt': 'cat' });
    const known = withKnownBuilds(space, cache);
    expect(candidateIn(known, 'int8').shape.preparation).toMatchObject({ seconds: 0 });
    expect(candidateIn(known, 'int8').fingerprint).toBe(candidateIn(space, 'int8').fingerprint);
  });
});

/** False for a process that ended, also where nobody has asked how yet. */
const isRunning = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('files of this machine', () => {
  it('must be what they were when the study began', async () => {
    const artifact = artifactIn(
      await spaceOf('variants:\n  b:\n    files: { 1/model.onnx: b.onnx }\n', { 'b.onnx': 'before' }),
      'b',
    );
    await writeFile(join(folder, 'b.onnx'), 'after');
    await expect(artifacts.prepareFiles(artifact, never)).rejects.toMatchObject({
      serverMessage: expect.stringContaining('has changed since the study began'),
    });
  });

  it('are emitted with the config, in which nothing of the study is left', async () => {
    const space = await spaceOf('variants:\n  b:\n    files: { 1: b }\n', { 'b/model.onnx': 'b', 'b/data/w.bin': 'w' });
    const best = candidateIn(space, 'b');
    const known = { artifacts: artifactsIn(space), cache };
    const [text, ...copies] = configDocuments(best, 'mlp', (name) => name, known);
    expect(text).toMatchObject({ path: 'mlp/config.pbtxt', text: expect.not.stringContaining('tritune') });
    expect(copies).toEqual([
      { path: 'mlp/1/data/w.bin', source: join(folder, 'b/data/w.bin'), sha256: hashSha256(Buffer.from('w')) },
      { path: 'mlp/1/model.onnx', source: join(folder, 'b/model.onnx'), sha256: hashSha256(Buffer.from('b')) },
    ]);
    // A journal may name the same file under the same digest: only the space file says what may be
    // read.
    const [, ...named] = configDocuments(best, 'mlp', (name) => name);
    expect(named).toHaveLength(2);
    for (const each of named) expect(each).not.toHaveProperty('source');
    const other = { ...best, value: JSON.parse(JSON.stringify(best.value).replaceAll(folder, '/etc')) };
    for (const each of configDocuments(other, 'mlp', (name) => name, known)) expect(each).not.toHaveProperty('source');
  });

  it('show in what is different', async () => {
    const space = await spaceOf('variants:\n  b:\n    files: { 1/model.onnx: b.onnx }\n', {
      'b.onnx': 'x'.repeat(1_200_000),
    });
    expect(listDifferences(toOriginal(config), candidateIn(space, 'b'))).toEqual([
      { path: 'variant', after: 'b (1/model.onnx 1.2 MB)' },
    ]);
  });
});

describe.each(['grpc', 'http'] as const)('a variant on a server over %s', (protocol) => {
  let server: Emulator;
  let client: TritonClient;
  beforeEach(async () => {
    const profile = {
      name: 'uploads',
      description: 'd',
      source: 's',
      device: { kind: 'gpu', name: 'GPU', memory_mib: 10_000, power_w: { idle: 1, busy: 2 } },
      models: [
        {
          config: onGpu,
          memory: { model_mib: 400, instance_mib: 0, sample_mib: 0 },
          law: { execution_ms: [[1, 1]] },
          arms: [{ name: 'int8', when: {}, uploaded: 'INT8', memory_scale: 0.25 }],
          load: { full_s: 0, add_s: 0, remove_s: 0 },
        },
      ],
    };
    server = await startEmulator({ profile: emulatorSchema.parse(profile) });
    client = protocol === 'grpc' ? connectGrpc(server.grpcUrl) : connectHttp(server.httpUrl);
  });
  afterEach(async () => {
    await client.close();
    await server.close();
  });

  /** What tells the files apart: 400 MiB for the repository's, 100 for those that hold INT8. */
  const memoryMib = async (): Promise<number> =>
    ((await client.statistics('mlp'))[0]?.memoryUsage[0]?.byteSize ?? 0) / 2 ** 20;

  it('is served from its own files, and the original again after the restore', async () => {
    const space = await spaceOf('variants:\n  a: {}\n  b:\n    files: { 1/model.onnx: b.onnx }\n', {
      'b.onnx': 'an INT8 network',
    });
    const before = await client.modelConfig('mlp');
    const control = createControl(client, [{ model: 'mlp', config: before, wasLoaded: true }], {
      clock: realClock,
      restore: 'config',
      loadTimeoutMs: 5_000,
      settleTimeoutMs: 5_000,
      isNewStudy: true,
      artifacts,
    });
    const original = toOriginal(before);
    expect(await memoryMib()).toBe(400);
    const applied = await control.apply(candidateIn(space, 'b', original), never);
    expect(applied.change).toBe('full');
    expect(await memoryMib()).toBe(100);
    expect(await control.changed(never)).toBeNull();
    expect((await control.apply(candidateIn(space, 'b', original), never)).change).toBe('none');
    const two = toCandidate(
      {
        ...toModelConfig(candidateIn(space, 'b', original)),
        instance_group: [{ count: 2, kind: 'KIND_GPU', gpus: [0] }],
      },
      {},
      artifactIn(space, 'b'),
    );
    expect((await control.apply(two, never)).change).toBe('in-place');
    expect(await memoryMib()).toBe(100);
    await control.apply(candidateIn(space, 'a', original), never);
    expect(await memoryMib()).toBe(400);
    await control.apply(candidateIn(space, 'b', original), never);
    expect(await control.restore()).toMatchObject({ how: 'config', verified: true });
    expect(await memoryMib()).toBe(400);
  });

  it('whose files lack the one that the config names is not sent', async () => {
    const space = await spaceOf(
      'variants:\n  b:\n    files: { 1/other.onnx: b.onnx }\n    config: { default_model_filename: model.onnx }\n',
      { 'b.onnx': 'x' },
    );
    const before = await client.modelConfig('mlp');
    const control = createControl(client, [{ model: 'mlp', config: before, wasLoaded: true }], {
      clock: realClock,
      restore: 'config',
      loadTimeoutMs: 5_000,
      settleTimeoutMs: 5_000,
      artifacts,
    });
    await expect(control.apply(candidateIn(space, 'b', toOriginal(before)), never)).rejects.toMatchObject({
      kind: 'upload-refused',
      serverMessage: expect.stringContaining("default_model_filename is 'model.onnx', and the upload has 1/other.onnx"),
    });
  });
});

describe('the accuracy guard', () => {
  const original = toOriginal(config);
  const applied = (candidate: Candidate) => ({ candidate, change: 'full', loadMs: 1 }) as const;
  const figures = { elements: 200, outsideShare: 0.02, absolute: 0.5, relative: 0.125 };
  const guardOf = (outsideShare: number, seen: Candidate[] = []) =>
    createAccuracyGuard({
      rule: { absolute: 0.1, relative: 0.01, outsideShare },
      original,
      compare: async (candidate) => {
        seen.push(candidate);
        return figures;
      },
    });

  it('refuses with figures what is too far off, and never the original', async () => {
    const other = toCandidate({ ...config, default_model_filename: 'int8.onnx' });
    await expect(guardOf(0.01)(applied(other), never)).rejects.toMatchObject({
      kind: 'inaccurate',
      serverMessage:
        '2 % of 200 output values outside; largest difference 0.5, relative 0.125; allowed: 1 % beyond 0.1 + 0.01 × |expected|',
    });
    expect(await guardOf(0.01)(applied(original), never)).toMatchObject({ accuracy: figures });
  });

  it('refuses what misses the limit of a command, or on what it fails', async () => {
    const other = toCandidate({ ...config, default_model_filename: 'int8.onnx' });
    const metric = { name: 'top1', value: 0.5, required: 'top1>=0.75', holds: false };
    const rule = { absolute: { A: 1, '*': 0.5 }, relative: 0, outsideShare: 1 };
    const guard = createAccuracyGuard({ rule, original, compare: async () => ({ ...figures, metric }) });
    await expect(guard(applied(other), never)).rejects.toMatchObject({
      kind: 'inaccurate',
      serverMessage: expect.stringMatching(/relative 0.125; top1 0.5; required: top1>=0.75$/),
    });
    expect(await guard(applied(original), never)).toMatchObject({ accuracy: { metric } });
    const broken = createAccuracyGuard({
      rule,
      original,
      compare: () => Promise.reject(new TrituneError('USAGE', 'the accuracy command ended with code 1', 'correct it')),
    });
    await expect(broken(applied(other), never)).rejects.toMatchObject({ kind: 'inaccurate' });
    await expect(broken(applied(original), never)).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('looks once at configs that differ in instances and batching alone', async () => {
    const seen: Candidate[] = [];
    const guard = guardOf(0.05, seen);
    const other = toCandidate({ ...config, default_model_filename: 'int8.onnx' });
    expect(await guard(applied(other), never)).toMatchObject({ accuracy: figures });
    const more = toCandidate({
      ...toModelConfig(other),
      max_batch_size: 4,
      instance_group: [{ count: 3, kind: 'KIND_CPU' }],
    });
    expect(await guard(applied(more), never)).not.toHaveProperty('accuracy');
    expect(seen).toEqual([other]);
  });
});

describe('the cache', () => {
  it('is in the XDG cache directory', () => {
    expect(cacheDirectory({ XDG_CACHE_HOME: '/c' })).toBe('/c/tritune/variants');
  });
});
