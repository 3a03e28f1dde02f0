import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded before a program (`node --import`), it hides what only Linux has: its name, `/proc`,
 * `/sys` and POSIX shared memory as files. Programs such as `taskset` are hidden by the `PATH` of
 * whoever starts it.
 */
const HIDDEN = /^\/(?:proc|sys|dev\/shm)(?:\/|$)/;

type Call = (...args: readonly unknown[]) => unknown;

function missing(call: string, path: string): NodeJS.ErrnoException {
  const message = `ENOENT: no such file or directory, ${call} '${path}'`;
  return Object.assign(new Error(message), { code: 'ENOENT', errno: -2, syscall: call, path });
}

/** Replaces the functions of the module that take a path. */
function hideIn(module: Record<string, unknown>, fail: (error: Error, args: readonly unknown[]) => unknown): void {
  for (const [name, call] of Object.entries(module)) {
    if (typeof call !== 'function' || /^[A-Z_]/.test(name)) continue;
    const hiding: Call = (...args) => {
      const path = String(args[0]);
      if (!HIDDEN.test(path)) return (call as Call)(...args);
      return name === 'existsSync' ? false : fail(missing(name, path), args);
    };
    module[name] = Object.assign(hiding, call);
  }
}

hideIn(fs.promises as unknown as Record<string, unknown>, (error) => Promise.reject(error));
hideIn(fs as unknown as Record<string, unknown>, (error, args) => {
  const done = args.at(-1);
  if (typeof done !== 'function') throw error;
  process.nextTick(done, error);
  return undefined;
});
syncBuiltinESMExports();
Object.defineProperty(process, 'platform', { value: 'darwin' });
