import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenedAdapter } from '#adapter/definition.ts';
import { engineAdapter } from '#adapter/engine/adapter.ts';
import { promptRequests } from '#app/target/prompt-requests.ts';
import { requestProfile } from '#app/target/request-profile.ts';
import { shellLine } from '#base/shell-words.ts';
import { loadInlineSpace } from '#space/source/load.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { adapterConformance } from '#testing/adapter-conformance.ts';

const script = resolve(import.meta.dirname, '../../support/language/quick-engine.ts');
const command = `${shellLine([process.execPath, script])} --max-num-seqs 2 --port {port} {flags}`;
const space = loadInlineSpace(
  {
    extends: 'engines/vllm',
    drop: ['enable_chunked_prefill', 'step-holds-prompt', 'gpu_memory_utilization', 'speculative'],
    parameters: {
      max_num_seqs: [1, 4, 128],
      max_num_batched_tokens: [64],
      enforce_eager: [false, true],
      eager_variable: { path: 'environment.QUICK_ENGINE', values: ['a', 'b'] },
    },
  },
  'test',
);
const signal = (): AbortSignal => AbortSignal.timeout(15_000);
const spec = toSpec({
  model: 'quick',
  endpoint: 'openai',
  precision: 50,
  inputTokens: { kind: 'constant', value: 8 },
  outputTokens: { kind: 'constant', value: 4 },
  prompts: 4,
});

async function open(readyTimeoutMs = 10_000): Promise<OpenedAdapter & { readonly logs: () => readonly string[] }> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-engine-'));
  const definition = engineAdapter({ command, space, readyTimeoutMs }, async (serving) =>
    requestProfile(spec, () => ({ address: serving().address, headers: [] }), await promptRequests(spec, null)),
  );
  const opened = await definition.open({ percentile: 99, precision: 0.5 }, undefined, directory);
  const folder = join(directory, 'server');
  const logs = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return { ...opened, logs };
}

function candidateIn({ adapter }: OpenedAdapter, assignment: Assignment): Candidate {
  const outcome = adapter.build(assignment);
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
}

describe('an adapter of a server that takes its settings at its start, as every adapter', { timeout: 180_000 }, () => {
  const suite = adapterConformance({
    open,
    assignments: [{ max_num_seqs: 4 }, { max_num_seqs: 1 }],
    illegal: { max_num_seqs: 128, max_num_batched_tokens: 64 },
    refused: { kv_cache_dtype: 'fp8' },
    startsServers: true,
    level: { mode: 'concurrency', value: 2 },
  });
  for (const { name, run } of suite) it(name, run);
});

describe('an adapter of a server that takes its settings at its start', { timeout: 180_000 }, () => {
  it('bears the mark of the emulator, if the command starts that', async () => {
    const launch = 'tritune emulate --profile llama-7b-a10 --port {port}';
    const directory = await mkdtemp(join(tmpdir(), 'tritune-engine-'));
    for (const [line, emulated] of [
      [launch, 'llama-7b-a10'],
      [command, null],
    ] as const) {
      const definition = engineAdapter({ command: line, space }, async (serving) =>
        requestProfile(spec, () => ({ address: serving().address, headers: [] }), await promptRequests(spec, null)),
      );
      const { adapter, close } = await definition.open({ percentile: 99, precision: 0.5 }, undefined, directory);
      expect(adapter.identity.emulated).toBe(emulated);
      await close();
    }
  });

  it('starts it with the flags and variables of a candidate, and ends it again', async () => {
    const opened = await open();
    const { adapter, logs, close } = opened;
    await adapter.apply(adapter.original, signal());
    expect(logs()[0]).toContain('"max-num-seqs":"2"');
    const candidate = candidateIn(opened, { max_num_seqs: 4, enable_prefix_caching: false, eager_variable: 'b' });
    const applied = await adapter.apply(candidate, signal());
    expect(applied.change).toBe('full');
    expect(applied.loadMs).toBeGreaterThan(0);
    expect(logs()[1]).toContain('"max-num-seqs":"4"');
    expect(logs()[1]).toContain('"enable-prefix-caching":false');
    expect(logs()[1]).toContain('"variable":"b"');
    expect(await adapter.changed(signal())).toBeNull();
    expect(adapter.diff(adapter.original, candidate).map(({ path }) => path)).toEqual([
      ...['QUICK_ENGINE', 'enable_prefix_caching', 'max_num_seqs'],
    ]);
    const { verified, detail } = await adapter.restore();
    expect({ verified, detail }).toEqual({
      verified: true,
      detail: 'the server that was started for the run has ended',
    });
    expect(await adapter.changed(signal())).toBe('the server has exited');
    await close();
  });

  it('tells the kinds of starts that fail apart, with the words of the log', async () => {
    const opened = await open();
    const { adapter, close } = opened;
    await expect(adapter.apply(candidateIn(opened, { kv_cache_dtype: 'fp8' }), signal())).rejects.toMatchObject({
      kind: 'out-of-memory',
      serverMessage: expect.stringMatching(/CUDA out of memory.*start-1\.log/),
    });
    const impatient = await open(500);
    const never = candidateIn(impatient, { enforce_eager: true });
    await expect(impatient.adapter.apply(never, signal())).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
    await impatient.close();
    const unknown = engineAdapter({ command: `${command} --no-such-flag 1`, space }, async () => ({
      measure: () => Promise.reject(new Error('nothing is measured')),
      close: async () => undefined,
    }));
    const directory = await mkdtemp(join(tmpdir(), 'tritune-engine-'));
    const other = await unknown.open({ percentile: 99, precision: 0.5 }, undefined, directory);
    await expect(other.adapter.apply(other.adapter.original, signal())).rejects.toMatchObject({
      kind: 'invalid-config',
      serverMessage: expect.stringMatching(/Unknown option '--no-such-flag'/),
    });
    await other.close();
    await close();
  });

  it('emits the line that starts the server', async () => {
    const opened = await open();
    const [launch, settings] = opened.adapter.documents(candidateIn(opened, { max_num_seqs: 4, eager_variable: 'a' }));
    expect(launch).toMatchObject({ path: 'launch.sh' });
    const text = launch && 'text' in launch ? launch.text : '';
    expect(text).toContain(`--port "$PORT" --max-num-seqs 4`);
    expect(text).toContain('QUICK_ENGINE=a');
    expect(settings).toMatchObject({ path: 'settings.json' });
    await opened.close();
  });

  it('has a policy for what its settings say of continuous batching', async () => {
    const opened = await open();
    const { shape } = candidateIn(opened, { max_num_seqs: 4, max_num_batched_tokens: 64 });
    expect(shape).toMatchObject({ scheduling: 'continuous', continuous: { maxSequences: 4, maxStepTokens: 64 } });
    expect(opened.adapter.original.shape.continuous).toMatchObject({ maxSequences: 2, maxStepTokens: 2048 });
    // What the policy says is no categorical setting.
    expect(Object.keys(shape.settings)).toEqual(Object.keys(opened.adapter.original.shape.settings));
    await opened.close();
  });
});
