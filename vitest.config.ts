import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/support/slow-first.ts';

/**
 * The suite on a real Triton, one file after the other, in two halves that take as long: CI lets
 * them run side by side.
 */
const runs = ['tune', 'client', 'streaming', 'language', 'variants', 'restore'].map(
  (name) => `test/real/${name}.test.ts`,
);
/** Compares the speed of two servers, which other suites beside it would slow unequally. */
const fidelity = 'test/real/fidelity.test.ts';
const ownFolder = 'test/support/own-folder.ts';
const testFile = (name: string): string => `test/${name}.test.ts`;
const onTriton = {
  globalSetup: [ownFolder, 'test/support/bundled-cli.ts', 'test/real/global-setup.ts'],
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 180_000,
  // Only a test that lost its server; the setup starts that again.
  retry: { count: 1, delay: 15_000, condition: /SERVER_UNREACHABLE|cannot reach the server|ECONNREFUSED/ },
};

/**
 * Rooms and files whose tests start no process of their own: they compute, and need no more workers
 * than there are cores.
 */
const rooms = [
  ...[
    'adapter',
    'base',
    'bench',
    'capacity',
    'emulator',
    'fuzz',
    'headless',
    'loadgen',
    'perfmodel',
    'profiler',
    'queueing',
    'report',
    'space',
    'spec',
  ],
  ...['stats', 'study', 'triton', 'tuner', 'watch', 'workload'],
];
const computing = [
  ...rooms.map((room) => `test/${room}/**/*.test.ts`),
  // Nothing of the lab starts a process but its commands.
  'test/lab/*.test.ts',
  ...['cli/expected-duration', 'fleet/study/*', 'soak/journal-scale', 'tui/speed', 'tui/state'].map(testFile),
];
/**
 * Files that need a process of their own: they count what it holds, or set a variable that a
 * package reads when it is loaded.
 */
const alone = ['soak/soak', 'tui/frames', 'security/hostile-words', 'fuzz/emulator'].map(testFile);
/**
 * All other files share loaded modules, which takes half of the time: a test leaves the process as
 * it found it.
 */
const unit = {
  globalSetup: [ownFolder],
  testTimeout: 60_000,
};
const processes = {
  ...unit,
  // More than two cores have: many tests wait for a process that they started.
  maxWorkers: 4,
  globalSetup: [ownFolder, 'test/support/bundled-cli.ts'],
  // As the program has it before it draws: React checks more otherwise, which takes half as long
  // again.
  env: { NODE_ENV: 'production' },
};

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    projects: [
      // Projects run in the order of their names, and one of these files takes long.
      { test: { name: 'isolated', include: alone, ...processes } },
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...[
              'test/real/**',
              'test/report/browser/**',
              'test/package/**',
              'test/fleet/temporal/**',
              'test/site/**',
              'test/combinations/**',
            ],
            ...[...computing, ...alone],
          ],
          isolate: false,
          ...processes,
        },
      },
      {
        test: {
          name: 'unit-shared',
          include: computing,
          exclude: ['test/report/browser/**', ...alone],
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          ...unit,
        },
      },
      { test: { name: 'triton-runs', include: runs, ...onTriton } },
      {
        test: { name: 'triton-parts', include: ['test/real/**/*.test.ts'], exclude: [...runs, fidelity], ...onTriton },
      },
      { test: { name: 'triton-fidelity', include: [fidelity], sequence: { groupOrder: 1 }, ...onTriton } },
      // Whatever can be combined, on the emulator.
      {
        test: {
          name: 'combinations',
          globalSetup: [ownFolder],
          include: ['test/combinations/**/*.test.ts'],
          maxWorkers: 3,
        },
      },
      // On a real Temporal, with workers and servers in processes of their own.
      {
        test: {
          name: 'fleet',
          globalSetup: [ownFolder, 'test/support/bundled-cli.ts', 'test/support/bundled-workflows.ts'],
          include: ['test/fleet/temporal/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'package',
          globalSetup: [ownFolder],
          include: ['test/package/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
      // The documentation as `npm run docs:build` leaves it.
      { test: { name: 'site', include: ['test/site/**/*.test.ts'] } },
      {
        test: {
          name: 'report',
          globalSetup: [ownFolder],
          include: ['test/report/browser/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
