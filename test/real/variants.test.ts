import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { openvinoPackages } from '../support/openvino.ts';
import { realTriton, startRealTriton } from '../support/real-triton.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const run = promisify(execFile);
const example = resolve(import.meta.dirname, '../../examples/variants');

/** The example in a folder of its own, on a server that has the base model and nothing else. */
let folder: string;
let server: LaunchedServer;
let client: TritonClient;
let env: Record<string, string>;

beforeAll(async () => {
  const install = await realTriton();
  const openvino = await openvinoPackages(install);
  folder = await freshDirectory();
  await cp(example, folder, { recursive: true });
  await run(join(install.binDirectory, 'python'), ['make_network.py', '.'], { cwd: folder });
  env = { XDG_CACHE_HOME: join(folder, 'cache'), PATH: `${install.binDirectory}:${process.env.PATH ?? ''}` };
  // So slow that a variant is certainly better, and is emitted.
  await edit(
    join(folder, 'models/mlp/1/model.py'),
    '    def execute',
    '    def execute(self, requests):\n        time.sleep(0.005)\n        return self.run(requests)\n\n    def run',
  );
  await edit(join(folder, 'models/mlp/1/model.py'), 'import os', 'import os\nimport time');
  await writeFile(
    join(folder, 'small.yaml'),
    `extends: variants.yaml
variants:
  openvino:
    files: { 1/model.py: openvino_model.py, 1/model.onnx: fp32.onnx }
    config: { parameters.openvino: ${openvino} }
  broken:
    build: { command: 'echo no such opset >&2; exit 3' }
drop: [queue_delay_us, dynamic_batching]
parameters: { max_batch_size: [16], instances: [1] }
`,
  );
  // One model twice, the second without most of its sleep.
  const [sleeper, napper] = ['sleeper', 'napper'].map((name) => join(folder, 'models', name)) as [string, string];
  await cp(join(import.meta.dirname, 'models/sleeper'), sleeper, { recursive: true });
  await cp(sleeper, napper, { recursive: true });
  await edit(join(napper, 'config.pbtxt'), 'name: "sleeper"', 'name: "napper"');
  await edit(join(napper, '1/model.py'), 'BASE_SECONDS = 0.002', 'BASE_SECONDS = 0.0002');
  server = await startRealTriton(join(folder, 'models'), { loadModels: ['mlp', 'sleeper'] });
  client = connectGrpc(server.grpcUrl);
});

async function edit(file: string, before: string, after: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(before, after));
}

afterAll(async () => {
  await client?.close();
  await server?.stop();
});

/** The model's reply to one request: not the same for other files. */
async function answer(httpUrl = server.httpUrl): Promise<readonly number[]> {
  const inputs = [{ name: 'INPUT', datatype: 'FP32', shape: [1, 256], data: Array(256).fill(0.5) }];
  const reply = await fetch(`http://${httpUrl}/v2/models/mlp/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs }),
  });
  const said = await reply.text();
  expect(reply.status, said).toBe(200);
  const { outputs } = JSON.parse(said) as { outputs: [{ data: number[] }] };
  return outputs[0].data;
}

const argsOf = (output: string, ...more: string[]): string[] => [
  ...['tune', '-m', 'mlp', '-u', server.grpcUrl, '--space', join(folder, 'small.yaml'), '--sampler', 'grid'],
  ...['--input-data', join(folder, 'data.json'), '--atol', '0.1', '--precision', '20', '--concurrency', '4:4'],
  ...['--accuracy-command', 'wc -l < "$TRITUNE_OUTPUTS"', 'replies>=1'],
  // The one size that is tried is below the original's.
  ...['--client-batch', '16'],
  ...['-o', output, ...more],
];

describe('variants of a model', () => {
  it('are built, uploaded, checked and measured; the best is emitted with its files, and the original is put back', async () => {
    const [before, config] = [await answer(), await client.modelConfig('mlp')];
    const output = await freshDirectory();
    // Each variant was tried; the final, which says no more of this, is left out.
    const running = startCli(argsOf(output), { env });
    await untilRecorded(output, running, (record) => record.type === 'trial-finished' && record.trial === 4);
    running.child.kill('SIGINT');
    const outcome = await running.ended;
    expect(outcome).toMatchObject({ code: 130 });
    expect(outcome.stderr).toContain("building variant 'int8'");
    expect(outcome.stdout).toMatch(/failed: build-failed: the build command ended with code 3: no such opset \(log: /);

    const records = await recordsOf(output);
    const variantOf = new Map(
      records.flatMap((each) =>
        each.type === 'trial-started' ? [[each.trial, each.candidate.assignment.variant]] : [],
      ),
    );
    const applied = records.filter((each) => each.type === 'trial-applied');
    const accuracyOf = (variant: string) => applied.find((each) => variantOf.get(each.trial) === variant)?.accuracy;
    const measured = records.flatMap((each) => (each.type === 'trial-measured' ? [variantOf.get(each.trial)] : []));
    expect(new Set(measured)).toEqual(new Set([undefined, 'fp32', 'int8', 'openvino']));
    // INT8 rounds; another runtime adds in another order.
    expect(accuracyOf('int8')?.absolute).toBeGreaterThan(1e-4);
    expect(accuracyOf('int8')?.metric).toMatchObject({ name: 'replies', holds: true });
    expect(accuracyOf('openvino')?.absolute).toBeGreaterThan(0);
    expect(accuracyOf('openvino')?.absolute).toBeLessThan(1e-4);

    expect(compareConfigs(config, await client.modelConfig('mlp'))).toEqual([]);
    expect(await answer()).toEqual(before);
    const { best } = await summaryOf(output);
    const variant = String(best?.assignment.variant);
    expect(JSON.stringify(best?.config)).not.toContain('tritune');

    // The folder as it is, is a repository.
    expect(['int8', 'openvino']).toContain(variant);
    const other = await startRealTriton(join(output, 'best'), { loadModels: ['mlp'] });
    try {
      const off = (await answer(other.httpUrl)).map((value, index) => Math.abs(value - (before[index] ?? 0)));
      expect(Math.max(...off)).toBeLessThan(0.1);
      if (variant === 'int8') expect(Math.max(...off)).toBeGreaterThan(0);
    } finally {
      await other.stop();
    }
  });

  it('leave the original files after kill -9 and `tritune restore`, and the study goes on without a second build', async () => {
    const before = await answer();
    const output = await freshDirectory();
    // Nothing but what is built.
    const only = join(folder, 'only.yaml');
    await writeFile(only, 'extends: small.yaml\ndrop: [fp32, openvino, broken]\n');
    const running = startCli([...argsOf(output), '--space', only], { env });
    await untilRecorded(output, running, (record) => record.type === 'trial-measured' && record.trial === 1);
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await answer()).not.toEqual(before);
    expect(await runCli(['restore', output], { env })).toMatchObject({ code: 0 });
    expect(await answer()).toEqual(before);

    const resumed = await runCli(['tune', '--resume', output, '--time-budget', '20'], { env });
    expect(resumed).toMatchObject({ code: 0 });
    expect(resumed.stderr).not.toContain('building variant');
    expect((await summaryOf(output)).restored?.verified).toBe(true);
    expect(await answer()).toEqual(before);
  });

  it('that are too far from the expected outputs are failed trials with figures', async () => {
    const output = await freshDirectory();
    const only = join(folder, 'strict.yaml');
    await writeFile(only, 'extends: small.yaml\ndrop: [fp32, openvino, broken]\n');
    const running = startCli([...argsOf(output), '--space', only, '--atol', '0.00001'], { env });
    // Without the final; a budget of time may be over before, on a busy machine.
    await untilRecorded(output, running, (record) => record.type === 'trial-finished' && record.trial === 1);
    running.child.kill('SIGINT');
    const outcome = await running.ended;
    expect(outcome.stdout).toMatch(
      /failed: inaccurate: \d+(\.\d+)? % of 128 output values outside; largest difference 0\.\d+/,
    );
    const failures = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-finished' ? (each.failure?.kind ?? []) : [],
    );
    expect(failures).toContain('inaccurate');
  });

  it('are other models by name, each of which is left as it was', async () => {
    const before = await client.modelConfig('sleeper');
    const output = await freshDirectory();
    const [space, candidates] = [join(folder, 'names.yaml'), join(folder, 'candidates.json')];
    await writeFile(space, 'variants: { sleeper: {}, napper: { model: napper } }\nparameters: { instances: [1, 2] }\n');
    await writeFile(candidates, JSON.stringify([{ variant: 'napper', instances: 2 }]));
    // Both answer with what they were sent.
    const echoed = [1, 2, 3, 4, 5, 6, 7, 8];
    const data = join(folder, 'echo.json');
    await writeFile(data, JSON.stringify({ data: [{ INPUT: echoed }], validation_data: [{ OUTPUT: echoed }] }));
    const running = startCli([
      ...['tune', '-m', 'sleeper', '-u', server.grpcUrl, '--space', space, '-o', output, '--concurrency', '2:2'],
      ...['--sampler', 'manual', '--candidates', candidates, '--precision', '25', '--input-data', data],
    ]);
    await untilRecorded(output, running, (record) => record.type === 'trial-finished' && record.trial === 1);
    running.child.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^model {6}'sleeper' has its original config; 'napper' is unloaded again, as it was before$/,
    );
    const applied = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-applied' ? (each.accuracy ?? []) : [],
    );
    expect(applied).toMatchObject([{ outsideShare: 0 }, { outsideShare: 0 }]);
    const { best, baseline } = await summaryOf(output);
    expect(best?.config).toMatchObject({ name: 'napper', instance_group: [{ count: 2 }] });
    expect((best?.throughput.value ?? 0) / (baseline?.throughput.value ?? 1)).toBeGreaterThan(2);
    expect(await readFile(join(output, 'best', 'napper', 'config.pbtxt'), 'utf8')).toContain('name: "napper"');
    const states = new Map((await client.index()).map(({ name, state }) => [name, state]));
    expect([states.get('sleeper'), states.get('napper')]).toEqual(['READY', 'UNAVAILABLE']);
    expect(compareConfigs(before, await client.modelConfig('sleeper'))).toEqual([]);
  });
});
