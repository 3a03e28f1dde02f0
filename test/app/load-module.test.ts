import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';

it('says how to load an ES module in a project that npm init made, which is CommonJS', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'tritune-test-'));
  await writeFile(join(cwd, 'package.json'), '{"type": "commonjs"}');
  const text = 'export default { name: "mine", next: () => null };\n';
  for (const name of ['mine.ts', 'mine.mts']) await writeFile(join(cwd, name), text);
  const load = (file: string) =>
    runCli(['tune', '--launch', 'emulator:demo', '-m', 'yolov7', '--sampler', file, '--dry-run'], { cwd });
  const failed = await load('./mine.ts');
  expect(failed.code).toBe(2);
  expect(failed.stderr).toMatch(
    /cannot load \.\/mine\.ts: .*name the file \.mts or \.mjs, or run npm pkg set type=module/,
  );
  expect((await load('./mine.mts')).stderr).not.toContain('cannot load');
});
