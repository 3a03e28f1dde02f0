import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/support/slow-first.ts';
import { listTests } from './test/support/test-kinds.ts';

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
 * Files that need a process of their own: they count what it holds, or set a variable that a
 * package reads when it is loaded.
 */
const alone = [...['cli/transport-options', 'fuzz/emulator', 'security/hostile-words', 'soak/soak', 'tui/frames']].map(
  testFile,
);
const tests = listTests();
const isAlone = (file: string): boolean => alone.includes(file);
/**
 * All other files share loaded modules, which takes half of the time: a test leaves the process as
 * it found it.
 */
const shared = { globalSetup: [ownFolder], testTimeout: 60_000, isolate: false };
// As the program has it before it draws: React checks more otherwise, which takes half as long
// again.
const env = { NODE_ENV: 'production' };
const system = { globalSetup: [ownFolder, 'test/support/bundled-cli.ts'], testTimeout: 60_000, env };

const projects = [
  // One worker more than two cores have: some tests wait.
  { ...shared, name: 'unit', include: tests.unit.filter((file) => !isAlone(file)), maxWorkers: 3, env },
  {
    name: 'unit-alone',
    include: tests.unit.filter(isAlone),
    globalSetup: [ownFolder],
    testTimeout: 60_000,
    maxWorkers: 2,
    env,
  },
  // More workers than two cores have: many tests wait for a process that they started.
  { ...shared, ...system, name: 'system', include: tests.system.filter((file) => !isAlone(file)), maxWorkers: 4 },
  { ...system, name: 'system-alone', include: tests.system.filter(isAlone), maxWorkers: 2 },
  { ...onTriton, name: 'triton-runs', include: runs },
  { ...onTriton, name: 'triton-parts', include: ['test/real/**/*.test.ts'], exclude: [...runs, fidelity] },
  { ...onTriton, name: 'triton-fidelity', include: [fidelity] },
  // Whatever can be combined, on the emulator.
  { name: 'combinations', globalSetup: [ownFolder], include: ['test/combinations/**/*.test.ts'], maxWorkers: 3 },
  // On a real Temporal, with workers and servers in processes of their own.
  {
    name: 'fleet',
    globalSetup: [ownFolder, 'test/support/bundled-cli.ts', 'test/support/bundled-workflows.ts'],
    include: ['test/fleet/temporal/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
  {
    name: 'package',
    globalSetup: [ownFolder],
    include: ['test/package/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
  // The documentation as `npm run docs:build` leaves it.
  { name: 'site', include: ['test/site/**/*.test.ts'] },
  {
    name: 'report',
    globalSetup: [ownFolder],
    include: ['test/report/browser/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
];

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    // One after the other, so that any may be started together.
    projects: projects.map((test, index) => ({ test: { ...test, sequence: { groupOrder: index } } })),
  },
});
