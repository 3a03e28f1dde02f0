import { cpus } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { FollowLines } from '../../src/launch/follow-lines.ts';
import { describeMachine, type Machine, readMachine } from '../../src/profiler/machine.ts';

const telling =
  (...lines: readonly string[]): FollowLines =>
  (_, args, onLine) => {
    expect(args).toContain('--format=csv,noheader,nounits');
    for (const line of lines) onLine(line);
    return { ended: Promise.resolve(), stop: async () => undefined };
  };

describe('the machine of a measurement', () => {
  const tool = telling(
    'GPU-1a, 550.54.15, 24576, 165.00, 1440, Disabled, NVIDIA A30',
    'GPU-2b, 550.54.15, 15360, [N/A], 1590, [N/A], Tesla T4, old',
    'MIG-3c, 550.54.15, 1, 1, 1, Enabled, NVIDIA A30',
    'No devices were found',
  );

  it('has the GPUs of a real server on it, as the driver knows them', async () => {
    const machine = await readMachine(tool, { servesHere: true, isEmulated: false });
    expect(machine).toMatchObject({ cores: cpus().length, servesHere: true });
    const driver = '550.54.15';
    expect(machine.gpus).toEqual([
      { uuid: 'GPU-1a', name: 'NVIDIA A30', driver, memoryMib: 24576, powerLimitW: 165, maxClockMhz: 1440, mig: false },
      { uuid: 'GPU-2b', name: 'Tesla T4, old', driver, memoryMib: 15360, maxClockMhz: 1590 },
    ]);
  });

  it('has none of an emulated or a distant server', async () => {
    expect((await readMachine(tool, { servesHere: true, isEmulated: true })).gpus).toEqual([]);
    expect(await readMachine(tool, { servesHere: false, isEmulated: false })).toMatchObject({
      servesHere: false,
      gpus: [],
    });
  });

  it('is told in one line', () => {
    const machine: Machine = {
      processor: 'Xeon\u001b[31m',
      cores: 16,
      memoryMib: 131072,
      system: 'Linux 6.1 x64',
      servesHere: true,
      gpus: [
        { uuid: 'GPU-1a', name: 'NVIDIA A30', driver: '550.54', memoryMib: 24576, powerLimitW: 165, mig: true },
        { uuid: 'GPU-2b', name: 'Tesla T4' },
      ],
    };
    expect(describeMachine(machine)).toMatch(
      /^Xeon.* \(16 cores, 128 GiB, Linux 6.1 x64\) with the server, NVIDIA A30 \(24 GiB, 165 W, MIG, driver 550.54\), Tesla T4$/,
    );
    expect(describeMachine(machine)).not.toContain('\u001b');
  });
});
