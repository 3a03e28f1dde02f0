import { join, resolve } from 'node:path';

/** The variable with the folder of the bundled command line, where there is one (`bundled-cli.ts`). */
export const BUNDLED_CLI = 'TRITUNE_TEST_CLI';

/** Returns the file of a program of the command line: bundled where the tests have that, else its source. */
export function cliProgram(name: 'main' | 'perf-analyzer-main'): string {
  const folder = process.env[BUNDLED_CLI];
  return folder ? join(folder, `${name}.mjs`) : resolve(import.meta.dirname, '../../src/cli', `${name}.ts`);
}
