import { join, resolve } from 'node:path';

/** The variable with the folder of the bundled code, where there is one (`bundled-cli.ts`). */
export const BUNDLED_CLI = 'TRITUNE_TEST_CLI';

/**
 * Returns the file of a program of the command line: bundled where the tests have that, else its
 * source.
 */
export function cliProgram(name: 'main' | 'perf-analyzer-main' | 'hey-main'): string {
  const code = process.env[BUNDLED_CLI];
  return code ? join(code, 'cli', `${name}.js`) : resolve(import.meta.dirname, '../../src/cli', `${name}.ts`);
}
