import { once } from 'node:events';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Summary } from '#study/summary/summary-schema.ts';
import { smallProfile } from '../support/emulator.ts';
import { install, pack, root, run, start } from './packed.ts';

let tarball = '';
let folder = '';
beforeAll(async () => {
  tarball = await pack();
  folder = await install(tarball);
});
afterAll(async () => {
  for (const path of [dirname(tarball), folder]) if (path !== '') await rm(path, { recursive: true, force: true });
});

const manifest = async () => JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };

/** The emulator as the installed package serves it, while `use` runs. */
async function withEmulator<T>(use: (url: string) => Promise<T>): Promise<T> {
  const ports = ['--grpc-port', '0', '--http-port', '0', '--metrics-port', '0'];
  await writeFile(join(folder, 'profile.yaml'), JSON.stringify(smallProfile()));
  const child = start('npx', ['tritune', 'emulate', '--profile', 'profile.yaml', ...ports], folder);
  try {
    let text = '';
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.includes('\n')) break;
    }
    const url = /grpc[^\d]*([\d.]+:\d+)/i.exec(text)?.[1];
    expect(url, `the startup line: ${text}`).toBeDefined();
    return await use(url as string);
  } finally {
    const ended = once(child, 'exit');
    // npx and what it runs are a group of their own.
    process.kill(-(child.pid as number), 'SIGTERM');
    await ended;
  }
}

describe('the package', () => {
  it('is as publint wants it', async () => {
    const data = await readFile(tarball);
    const { messages, pkg } = await publint({
      pack: { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.length) },
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('has types that every resolution of ES modules finds', async () => {
    const { buffer, byteOffset, length } = await readFile(tarball);
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(buffer, byteOffset, length)));
    expect(analysis.types).toMatchObject({ kind: 'included' });
    // CommonJS may not import it, and resolution older than `exports` does not find it: neither is
    // promised.
    const promised = ['node16-esm', 'bundler'];
    const problems = 'problems' in analysis ? analysis.problems : [];
    expect(problems.filter((each) => !('resolutionKind' in each) || promised.includes(each.resolutionKind))).toEqual(
      [],
    );
  });

  it('installs few packages, and comes with the licences of those in the bundle', async () => {
    const { stdout } = await run('npm', ['ls', '--all', '--parseable'], folder);
    // The folder itself, then tritune, zod, and two packages with native parts.
    expect(stdout.trim().split('\n').length).toBeLessThanOrEqual(8);
    const notices = await readFile(join(folder, 'node_modules/tritune/dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    const packages = [...notices.matchAll(/^(\S+) \d+\.\d+\.\S+ \((.+)\)$/gm)];
    expect(packages.map(([, name]) => name)).toEqual(expect.arrayContaining(['echarts', 'zrender', 'ink', 'undici']));
    const permissive = /^(0BSD|Apache-2\.0|BSD-[23]-Clause|ISC|MIT|\(MIT AND Zlib\))$/;
    expect(packages.filter(([, , licence]) => !permissive.test(licence as string))).toEqual([]);
    expect(notices).toContain('Apache ECharts\nCopyright');
  });

  it('says its version', async () => {
    const { stdout } = await run('npx', ['tritune', '--version'], folder);
    expect(stdout.trim()).toBe((await manifest()).version);
  });

  it('tunes a model of its own emulator, by the command line and by the example', { timeout: 300_000 }, async () => {
    await copyFile(join(root, 'examples/tune.ts'), join(folder, 'tune.mts'));
    await withEmulator(async (url) => {
      const load = ['--concurrency', '8', '--max-trials', '1', '--precision', '20', '--time-budget', '10s'];
      await run('npx', ['tritune', 'tune', '-m', 'm', '-u', url, ...load, '-o', 'run'], folder);
      const summary = JSON.parse(await readFile(join(folder, 'run/summary.json'), 'utf8')) as Summary;
      expect(summary).toMatchObject({ emulated: 'small', restored: { verified: true }, counts: { trials: 2 } });
      const { stdout, stderr } = await run('node', ['tune.mts', 'm', url, '80'], folder);
      expect(stdout).toMatch(/^\d+ infer\/s, [\d.]+ times the original config: \{/);
      expect(stderr).toMatch(/the best config: tritune-runs\/\S+\/best\/m\/config\.pbtxt/);
    });
  });

  it('tunes by a sampler and an adapter from outside, which pass their suites', { timeout: 300_000 }, async () => {
    for (const name of ['sampler', 'adapter'])
      await copyFile(join(root, 'examples', `${name}.ts`), join(folder, `${name}.mts`));
    await writeFile(
      join(folder, 'suites.mts'),
      `import { adapterConformance, samplerConformance } from 'tritune/testing';
import { adapter } from './adapter.mts';
import { sampler } from './sampler.mts';
const suites = [
  ...samplerConformance(sampler),
  ...adapterConformance({
    open: () => adapter.open({ percentile: 99, precision: 0.5 }),
    assignments: [{ workers: 2, batch: 4 }, { workers: 4, batch: 1 }],
    refused: { workers: 16, batch: 1 },
    level: { mode: 'concurrency', value: 2 },
  }),
];
for (const { name, run } of suites) await run().then(() => console.log('passed', name));
`,
    );
    const { stdout } = await run('node', ['suites.mts'], folder);
    expect(stdout.match(/^passed /gm)).toHaveLength(23);
    const limits = ['--latency-budget', '1000', '--concurrency', '8:8', '--precision', '20', '--max-trials', '3'];
    const parts = ['--adapter', './adapter.mts', '--sampler', './sampler.mts'];
    await run('npx', ['tritune', 'tune', '-m', 'words', ...parts, ...limits, '-o', 'words'], folder);
    const summary = JSON.parse(await readFile(join(folder, 'words/summary.json'), 'utf8')) as Summary;
    expect(summary).toMatchObject({
      model: 'words',
      feasible: true,
      restored: { verified: true },
      counts: { trials: 4 },
    });
    const best = JSON.parse(await readFile(join(folder, 'words/best/settings.json'), 'utf8')) as object;
    expect(best).toMatchObject({ workers: expect.any(Number), batch: expect.any(Number) });
  });

  it('is typed for a program of strict TypeScript that checks the types of its libraries too', async () => {
    await writeFile(
      join(folder, 'typed.mts'),
      `import { type Summary, tune, type TuneEvent } from 'tritune';
const seen: TuneEvent['type'][] = [];
const summary: Promise<Summary> = tune({ model: 'm', latencyBudget: 8 }, { onEvent: ({ type }) => seen.push(type) });
export const best: Promise<number | null | undefined> = summary.then(({ best }) => best?.throughput.value);
// @ts-expect-error a budget is a number of milliseconds
export const wrong = tune({ model: 'm', latencyBudget: '8ms' });
// @ts-expect-error a sampler has a name and a function
export const unknown = tune({ model: 'm', sampler: { name: 'best' } });
`,
    );
    const typeRoots = [join(root, 'node_modules/@types')];
    const options = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      types: ['node'],
      typeRoots,
      skipLibCheck: false,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['typed.mts'] }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await expect(run('node', [tsc, '-p', folder], folder)).resolves.toMatchObject({ stdout: '' });
  });
});
