import { cpus, release, type as systemName, totalmem } from 'node:os';
import { z } from 'zod';
import { plainLine } from '#base/format.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { count, openObject, text } from '#base/schema.ts';
import { BYTES_PER_MIB } from '#base/units.ts';
import type { FollowLines } from '#launch/follow-lines.ts';
import { readTool } from './devices/gpu-names.ts';

/** The machine that sent the requests, in documents. */
export const machineSchema = openObject({
  processor: text.describe('its processor'),
  cores: count.describe('logical cores of it'),
  memoryMib: count.describe('its memory in MiB'),
  system: text.describe('its system'),
  servesHere: z.boolean().describe('whether the server was on it too'),
  roundTripMs: z.number().optional().describe('shortest time in which a connection to the server opened'),
  gpus: z
    .array(
      openObject({
        uuid: text.describe('as the driver names it'),
        name: text.describe('its name'),
        driver: text.optional().describe('version of the driver'),
        cuda: text.optional().describe('latest version of CUDA that the driver serves'),
        memoryMib: z.number().optional().describe('its memory in MiB'),
        powerLimitW: z.number().optional().describe('its power limit in watts'),
        maxClockMhz: z.number().optional().describe('its highest clock in MHz'),
        mig: z.boolean().optional().describe('whether it is divided by MIG; absent where it cannot be'),
      }),
    )
    .describe("the server's GPUs; empty if it has none, runs elsewhere, or is emulated"),
}).meta({ id: 'machine', description: 'the machine of the client' });

export type Machine = ReadOnly<z.output<typeof machineSchema>>;

const MIB_PER_GIB = 1024;

/**
 * The columns of nvidia-smi (`nvidia-smi --help-query-gpu`), the name last: it may hold a comma.
 */
const COLUMNS = ['uuid', 'driver_version', 'memory.total', 'power.limit', 'clocks.max.sm', 'mig.mode.current', 'name'];

/**
 * Returns what requests are sent from, and this machine's GPUs if a real server uses them. Never
 * throws.
 */
export async function readMachine(
  follow: FollowLines,
  { servesHere, isEmulated }: { readonly servesHere: boolean; readonly isEmulated: boolean },
): Promise<Machine> {
  return {
    processor: cpus()[0]?.model.trim() || 'unknown',
    cores: cpus().length,
    memoryMib: Math.round(totalmem() / BYTES_PER_MIB),
    system: `${systemName()} ${release()} ${process.arch}`,
    servesHere,
    gpus: servesHere && !isEmulated ? await readGpus(follow) : [],
  };
}

async function readGpus(follow: FollowLines): Promise<Machine['gpus']> {
  const gpus: Machine['gpus'][number][] = [];
  const query = [`--query-gpu=${COLUMNS.join()}`, '--format=csv,noheader,nounits'];
  await readTool(follow, query, (line) => {
    const [uuid = '', driver = '', memory, power, clock, mig, ...name] = line.split(',').map((cell) => cell.trim());
    if (!uuid.startsWith('GPU-') || name.length === 0) return;
    const figures = Object.entries({
      memoryMib: Number.parseFloat(memory ?? ''),
      powerLimitW: Number.parseFloat(power ?? ''),
      maxClockMhz: Number.parseFloat(clock ?? ''),
    }).filter(([, value]) => Number.isFinite(value));
    gpus.push({
      uuid,
      name: name.join(', '),
      ...(/^\d/.test(driver) && { driver }),
      ...Object.fromEntries(figures),
      ...((mig === 'Enabled' || mig === 'Disabled') && { mig: mig === 'Enabled' }),
    });
  });
  if (gpus.length === 0) return gpus;
  const cuda = await readCuda(follow);
  return cuda === null ? gpus : gpus.map((gpu) => ({ ...gpu, cuda }));
}

/** Returns the version of CUDA in the head of `nvidia-smi --query`; null without one. */
async function readCuda(follow: FollowLines): Promise<string | null> {
  let version: string | null = null;
  await readTool(follow, ['--query', '--display=COMPUTE'], (line) => {
    version ??= /^CUDA Version\s*:\s*(\d+(?:\.\d+)*)\s*$/.exec(line)?.[1] ?? null;
  });
  return version;
}

/**
 * Returns a machine in words: `Intel Xeon (16 cores, 128 GiB, Linux 6.1 x64) with the server,
 * NVIDIA A30 (24 GiB, 165 W, driver 550.54, CUDA 12.4)`.
 */
export function describeMachine({ processor, cores, memoryMib, system, servesHere, gpus }: Machine): string {
  const client = `${processor} (${cores} cores, ${formatGib(memoryMib)}, ${system})`;
  const words = gpus.map(({ name, memoryMib: own, powerLimitW, maxClockMhz, driver, cuda, mig }) => {
    const facts = [
      own === undefined ? [] : formatGib(own),
      powerLimitW === undefined ? [] : `${powerLimitW} W`,
      maxClockMhz === undefined ? [] : `${maxClockMhz} MHz`,
      mig === true ? 'MIG' : [],
      driver === undefined ? [] : `driver ${driver}`,
      cuda === undefined ? [] : `CUDA ${cuda}`,
    ].flat();
    return facts.length === 0 ? name : `${name} (${facts.join(', ')})`;
  });
  return plainLine([`${client}${servesHere ? ' with the server' : ''}`, ...words].join(', '));
}

const formatGib = (mib: number): string => `${Math.round(mib / MIB_PER_GIB)} GiB`;
