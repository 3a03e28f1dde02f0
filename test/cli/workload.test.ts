import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { workloadJsonSchema } from '#workload/workload-schema.ts';
import { callCli } from '../support/call-cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const evening = `workloadVersion: 1
classes:
  thumb: { weight: 3, limitMs: 40 }
  photo: { weight: 1, limitMs: 200, model: resnet }
phases:
  - { durationS: 60, arrivals: { process: constant, perSecond: 100 } }
  - { durationS: 60, arrivals: { process: constant, perSecond: 300 }, weights: { photo: 1 } }
`;

const fileWith = async (content: string, name = 'evening.yaml'): Promise<string> => {
  const path = join(await freshDirectory(), name);
  await writeFile(path, content);
  return path;
};

describe('tritune workload', () => {
  it('show draws the rate over time, and each class', async () => {
    const { code, stdout } = await callCli(['workload', 'show', await fileWith(evening)]);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('evening: 24,000 requests in 2 min');
    expect(stdout).toMatch(/mean {21}200 requests\/s/);
    expect(stdout).toMatch(/peak over 10 s {11}300 requests\/s, 1\.5 times the mean/);
    // Two levels, a third and the whole height, each over half of the time.
    expect(lines).toContain(`     300 ┤${' '.repeat(32)}${'█'.repeat(32)}`);
    expect(lines).toContain(`         │${'█'.repeat(64)}`);
    expect(stdout).toMatch(/thumb +4,500 +18\.8 % +37\.5 +7\d[.\d]* {2}within 40 ms/);
    expect(stdout).toMatch(/photo +19,500 +81\.3 % +163 +300 {2}model resnet, within 200 ms/);
    expect(lines.find((line) => line.includes('2 min') && line.startsWith(' '))?.trimEnd()).toHaveLength(74);
  });

  it('show scales, and says it in JSON', async () => {
    const file = await fileWith(evening);
    const { stdout } = await callCli(['workload', 'show', file, '--rate', '50', '--most-seconds', '20', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'evening', requests: 1000, durationS: 20, meanPerSecond: 50 });
    const scaled = await callCli(['workload', 'show', file, '--time-scale', '0.5']);
    expect(scaled.stdout).toContain('12,000 requests in 1 min (of 2 min, rates as they are)');
  });

  it('check says what files hold, and where one is wrong', async () => {
    const good = await fileWith(evening);
    expect(await callCli(['workload', 'check', good])).toMatchObject({
      code: 0,
      stdout: `${good}: 2 classes, 2 phases, 2 min, 200 requests/s on average\n`,
    });
    const bad = await fileWith(evening.replace('perSecond: 300', 'perSecnd: 300'));
    const { code, stderr } = await callCli(['workload', 'check', bad]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `${bad}, line 7: phases.1.arrivals: 'perSecnd' is not known here (did you mean 'perSecond'?)`,
    );
  });

  it('from-log writes a workload that reads, and never over another unless it is told to', async () => {
    const log = await fileWith('0 a\n1\n'.replace(' a', ''), 'times.log');
    const output = join(await freshDirectory(), 'deep', 'made.yaml');
    const made = await callCli(['workload', 'from-log', log, '-o', output]);
    expect(made).toMatchObject({ code: 0, stdout: `${output}\n${output.replace('.yaml', '.csv')}\n` });
    expect(made.stderr).toContain('times: 2 requests');
    const text = await readFile(output, 'utf8');
    expect(text).toMatch(/^# Made of times\.log by tritune workload from-log\.\n# Times: 2 requests\.\n/);
    expect((await callCli(['workload', 'check', output])).code).toBe(0);
    await writeFile(output, 'mine');
    const again = await callCli(['workload', 'from-log', log, '-o', output]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('OUTPUT_EXISTS') });
    expect(await readFile(output, 'utf8')).toBe('mine');
    expect((await callCli(['workload', 'from-log', log, '-o', output, '--force'])).code).toBe(0);
    expect((await callCli(['workload', 'from-log', log, '-o', 'made.txt'])).code).toBe(2);
    expect((await callCli(['workload', 'from-log', `${log}x`, '-o', output])).code).toBe(2);
  });

  it('from-log reads a hundred thousand lines of an access log by model', async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => {
      const second = Math.floor(index / 1000);
      const time = `10/Oct/2025:13:${String(10 + Math.floor(second / 60))}:${String(second % 60).padStart(2, '0')} +0000`;
      return `1.2.3.4 - - [${time}] "POST /v2/models/m${index % 2}/infer HTTP/1.1" 200 1`;
    });
    const log = await fileWith(lines.join('\n'), 'access.log');
    const output = log.replace('access.log', 'made.yaml');
    expect((await callCli(['workload', 'from-log', log, '-o', output])).code).toBe(0);
    const { stdout } = await callCli(['workload', 'show', output, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      requests: 100_000,
      durationS: 100,
      meanPerSecond: 1000,
      classes: [
        { name: 'm0', share: 0.5 },
        { name: 'm1', share: 0.5 },
      ],
    });
  });

  it('split writes both parts', async () => {
    const trace = 'workloadVersion: 1\nphases: [{ durationS: 100, arrivals: { process: trace, file: t.csv } }]\n';
    const file = await fileWith(trace);
    await writeFile(file.replace('evening.yaml', 't.csv'), Array.from({ length: 100 }, (_, index) => index).join('\n'));
    const output = file.replace('evening.yaml', 'part.yaml');
    const outcome = await callCli(['workload', 'split', file, '-o', output, '--holdout', '0.2', '--block', '5s']);
    expect(outcome.code).toBe(0);
    expect(outcome.stdout.split('\n').filter((line) => line.endsWith('.yaml'))).toHaveLength(2);
    const parts = ['train', 'holdout'].map((which) => output.replace('.yaml', `-${which}.yaml`));
    const { stdout } = await callCli(['workload', 'check', ...parts]);
    expect(stdout).toContain('1 class, 1 phase, 1 min 20 s, 1 requests/s on average');
    expect(stdout).toContain('1 class, 1 phase, 20 s, 1 requests/s on average');
  });

  it('schema prints the JSON Schema', async () => {
    const { stdout } = await callCli(['workload', 'schema']);
    expect(JSON.parse(stdout)).toEqual(workloadJsonSchema());
  });
});
