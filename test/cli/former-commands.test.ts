import { expect, it } from 'vitest';
import { callCli } from '../support/call-cli.ts';

it.each(['space', 'workload'])('takes the former name of schema %s, and says the new one', async (name) => {
  const [former, now] = [await callCli([name, 'schema']), await callCli(['schema', name])];
  expect(former).toMatchObject({ code: 0, stdout: now.stdout });
  expect(former.stderr).toBe(`tritune ${name} schema is now tritune schema ${name}, and will go\n`);
  expect(JSON.parse(now.stdout)).toHaveProperty('$schema');
});

it.each(['study', 'prices', 'summary', 'profile', 'capacity', 'journal'])('prints the schema of %s', async (name) => {
  const { code, stdout } = await callCli(['schema', name]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toHaveProperty('$schema');
});

it('shows a fleet by watch, and what is of a fleet only there', async () => {
  const wrong = await callCli(['watch', '--group', 'a']);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--group is for a fleet (add --temporal)') });
});
