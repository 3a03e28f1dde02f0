import type { HeaderSpec, ProtectSpec, RestoreFirstSpec, TlsSpec } from '#spec/server-spec.ts';
import { restoreRun } from './restore-study.ts';
import { LeftChangedError } from './server/leftover.ts';

/**
 * Does the work. With `restoreFirst`, restores each model that a killed run left changed and that
 * the work refuses for, and starts again. Errors: those of the work and of `restoreRun`.
 */
export async function afterRestoring<T>(
  options: RestoreFirstSpec & TlsSpec & HeaderSpec & ProtectSpec,
  tell: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const restored = new Set<string>();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const directory = error instanceof LeftChangedError ? error.directory : null;
      if (options.restoreFirst !== true || directory === null || restored.has(directory)) throw error;
      restored.add(directory);
      tell(
        `restored first: ${await restoreRun(directory, { ...options, tell, url: undefined, how: null, force: false })}`,
      );
    }
  }
}
