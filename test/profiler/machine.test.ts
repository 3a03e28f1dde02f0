import { cpus } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { FollowLines } from '#launch/follow-lines.ts';
import { describeMachine, type Machine, readMachine } from '#profiler/machine.ts';

const telling =
  (head: readonly string[], ...rows: readonly string[]): FollowLines =>
  (_, args, onLine) => {
    if (!args.includes('--query')) expect(args).toContain('--format=csv,noheader,nounits');
    for (const line of args.includes('--query') ? head : rows) onLine(line);
    return { ended: Promise.resolve(), stop: async () => undefined };
  };

describe('the machine of a measurement', () => {
  const head = [
    'Driver Version                            : 550.54.15',
    'CUDA Version                              : 12.4',
  ];
  const tool = telling(
    [...head, 'Attached GPUs                             : 2'],
    'GPU-1a, 550.54.15, 24576, 165.00, 1440, Disabled, NVIDIA A30',
    'GPU-2b, 550.54.15, 15360, [N/A], 1590, [N/A], Tesla T4, old',
    'MIG-3c, 550.54.15, 1, 1, 1, Enabled, NVIDIA A30',
    'No devices were found',
  );

  it('has the GPUs of a real server on it, as the driver knows them', async () => {
    const machine = await readMachine(tool, { servesHere: true, isEmulated: false });
    expect(machine).toMatchObject({ cores: cpus().length, servesHere: true });
    const versions = { driver: '550.54.15', cuda: '12.4' };
    expect(machine.gpus).toEqual([
      {
        uuid: 'GPU-1a',
        name: 'NVIDIA A30',
        ...versions,
        memoryMib: 24576,
        powerLimitW: 165,
        maxClockMhz: 1440,
        mig: false,
      },
      { uuid: 'GPU-2b', name: 'Tesla T4, old', ...versions, memoryMib: 15360, maxClockMhz: 1590 },
    ]);
  });

  it('does without the version of CUDA', async () => {
    const silent = telling([], 'GPU-1a, 550.54.15, 24576, 165.00, 1440, Disabled, NVIDIA A30');
    expect((await readMachine(silent, { servesHere: true, isEmulated: false })).gpus[0]).not.toHaveProperty('cuda');
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
        {
          uuid: 'GPU-1a',
          name: 'NVIDIA A30',
          driver: '550.54',
          cuda: '12.4',
          memoryMib: 24576,
          powerLimitW: 165,
          mig: true,
        },
        { uuid: 'GPU-2b', name: 'Tesla T4' },
      ],
    };
    expect(describeMachine(machine)).toMatch(
      /^Xeon.* \(16 cores, 128 GiB, Linux 6.1 x64\) with the server, NVIDIA A30 \(24 GiB, 165 W, MIG, driver 550.54, CUDA 12.4\), Tesla T4$/,
    );
    expect(describeMachine(machine)).not.toContain('\u001b');
  });
});
