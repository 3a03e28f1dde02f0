import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Names that say who made an object of shared memory, so that what a killed process has left can be told from what a
 * live one uses: `tritune-PIDNAMESPACE-PID-STARTTIME-RANDOM-WHAT`. A process id alone is not enough: ids are used again,
 * and mean something else in every container.
 */
const pattern = /^tritune-(\d+)-(\d+)-(\d+)-[0-9a-f]+-[a-z]+$/;

/** The beginning of all names of this process. Errors: as reading `/proc`, which only Linux has. */
export function ownPrefix(): string {
  return `tritune-${pidNamespace()}-${process.pid}-${startTimeOf(process.pid)}`;
}

/** A new name of this process. Errors: as `ownPrefix`. */
export const ownName = (what: 'in' | 'out'): string => `${ownPrefix()}-${randomBytes(6).toString('hex')}-${what}`;

/** True for the name of a process of this namespace that is no more. */
export function isRemains(name: string): boolean {
  const [, namespace, pid, startTime] = pattern.exec(name) ?? [];
  return namespace !== undefined && namespace === pidNamespace() && startTimeOf(Number(pid)) !== startTime;
}

const pidNamespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';

/** In clock ticks since the machine's start: field 22, counted from behind the name, which may hold anything. */
function startTimeOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
