import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { toCommandName } from '#base/command-name.ts';
import { shellLine } from '#base/shell-words.ts';

const at = (script: string, env: Record<string, string> = {}, cwd = '/home/ann/app') =>
  toCommandName({ script, node: 'node', cwd, env });

it('names the command as it was started', () => {
  const bin = '/home/ann/app/node_modules/.bin';
  expect(at(`${bin}/tritune`, { npm_command: 'exec', PATH: bin })).toBe('npx tritune');
  expect(at(`${bin}/tritune`, { PATH: '/bin' })).toBe('npx tritune');
  expect(at(`${bin}/tritune`, { PATH: `/bin:${bin}` })).toBe('tritune');
  expect(at('/usr/local/bin/tritune', { PATH: '/bin:/usr/local/bin' })).toBe('tritune');
  expect(at('/opt/my tools/tritune', { PATH: '/bin' })).toBe("'/opt/my tools/tritune'");
  expect(at('/home/ann/app/tritune', { PATH: '/bin' })).toBe('./tritune');
  expect(at('/home/ann/app/dist/cli/main.js')).toBe('node dist/cli/main.js');
  expect(at('/home/ann/tritune/src/cli/main.ts')).toBe('node /home/ann/tritune/src/cli/main.ts');
  // A program that uses the library has a name of its own.
  expect(at('/home/ann/app/tune.mts')).toBe('tritune');
});

it("names the lab's program likewise, and tritune beside it", () => {
  const start = (script: string) => ({ script, node: 'node', cwd: '/home/ann/app', env: { PATH: '/usr/local/bin' } });
  const lab = (script: string): string => toCommandName(start(script), 'tritune-lab');
  expect(lab('/usr/local/bin/tritune-lab')).toBe('tritune-lab');
  expect(lab('/home/ann/app/lab/tritune-lab.ts')).toBe('node lab/tritune-lab.ts');
  expect(toCommandName(start('/home/ann/app/lab/tritune-lab.ts'))).toBe('tritune');
});

it('writes words that a shell reads as they were', () => {
  const words = ['plain', 'two words', "it's", '', '$HOME `date` "x" \\', '--flag=a;b', '{port}', 'a\nb', '*'];
  const read = execFileSync('sh', ['-c', `printf '%s\\0' ${shellLine(words)}`], { encoding: 'utf8' });
  expect(read.split('\0').slice(0, -1)).toEqual(words);
});
