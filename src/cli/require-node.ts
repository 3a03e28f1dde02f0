import { TrituneError } from '#base/errors.ts';
import { oldestNode } from '#base/package.ts';

/**
 * Refuses a Node (`22.1.0`) older than `package.json` allows, because npm only warns about it.
 * Errors: UNSUPPORTED.
 */
export function requireNode(version: string): void {
  if (version.localeCompare(oldestNode, 'en', { numeric: true }) >= 0) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `tritune needs Node ${oldestNode} or newer, and this is Node ${version}`,
    'install a newer Node, or put it first in PATH',
  );
}
