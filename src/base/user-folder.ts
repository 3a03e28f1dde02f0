import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * The variable of a folder, and the folder in the user's home without it (XDG Base Directory
 * Specification).
 */
const FOLDERS = { config: ['XDG_CONFIG_HOME', '.config'], state: ['XDG_STATE_HOME', '.local/state'] } as const;

/**
 * Returns tritune's folder among the user's folders of that kind. A variable with a relative path
 * counts as unset.
 */
export function userFolder(kind: keyof typeof FOLDERS): string {
  const [variable, usual] = FOLDERS[kind];
  const folder = process.env[variable];
  return join(folder !== undefined && isAbsolute(folder) ? folder : join(homedir(), usual), 'tritune');
}
