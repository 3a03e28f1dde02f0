import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Names that identify the creator of a shared-memory object, to tell the remains of a killed
 * process from the memory of a live one: `tritune-PIDNAMESPACE-PID-STARTTIME-RANDOM-WHAT`. A
 * process id alone is not enough: ids are reused, and mean something else in every container.
 */
const pattern = /^tritune-(\d+)-(\d+)-(\d+)-[0-9a-f]+-[a-z]+$/;

/**
 * Returns the prefix of all names of this process. Errors: as reading `/proc`, which only Linux
 * has.
 */
export function ownPrefix(): string {
  return `tritune-${pidNamespace()}-${process.pid}-${readStartTime(process.pid)}`;
}

/** Returns a new name of this process. Errors: as `ownPrefix`. */
export const ownName = (what: 'in' | 'out'): string => `${ownPrefix()}-${randomBytes(6).toString('hex')}-${what}`;

/** True for the name of a process of this namespace that no longer exists. */
export function isRemains(name: string): boolean {
  const [, namespace, pid, startTime] = pattern.exec(name) ?? [];
  return namespace !== undefined && namespace === pidNamespace() && readStartTime(Number(pid)) !== startTime;
}

const pidNamespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';

/**
 * In clock ticks since the machine's start: field 22, counted from after the name, which may hold
 * anything. Undefined for a process that has ended and only awaits its parent (field 3): it holds
 * nothing.
 */
function readStartTime(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
