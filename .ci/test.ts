import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * The README's test command: both halves of the unit tests side by side, as one mostly waits for
 * processes that it started and the other mostly computes. Each one's output comes whole, that of a
 * half that failed last; arguments go to both.
 */
const halves = [['isolated', 'unit'], ['unit-shared']];
const asked = process.argv.slice(2);

async function run(projects: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const args = ['run', ...projects.flatMap((name) => ['--project', name]), '--passWithNoTests', ...asked];
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, output };
}

const ended = await Promise.all(halves.map(run));
for (const { output } of ended.toSorted((a, b) => a.code - b.code)) process.stdout.write(output);
process.exitCode = Math.max(...ended.map(({ code }) => code));
