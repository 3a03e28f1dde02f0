import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { FleetKills, processes } from './kills/fleet.ts';
import { phases } from './kills/moments.ts';
import { addResults, type Result, readResults, tableOf } from './kills/results.ts';
import { Stage } from './kills/stage.ts';
import { KilledStudy } from './kills/study.ts';
import { kinds } from './kills/subjects.ts';

/**
 * Kills tritune (SIGKILL) while it tunes a real Triton: `npm run bench:kills -- --kills 1000`. A
 * third of the kills fall at any moment of a run, the others are aimed: into a load, an upload, a
 * restore, a write to the journal. After each the journal must have all that was written, the next
 * run must not take what is served for the original config, and `tritune restore`, `--resume` or
 * `--restore-first` must bring the server back, byte for byte.
 *
 * - `--kills N` (100): of all kinds together. Results are appended to `--results FILE`
 *   (kills.jsonl), and those of earlier calls count.
 * - `--minutes N` ends after that time; the next call goes on.
 * - `--only single,variants` chooses kinds: single, ensemble, bls, co-located, variants, capacity,
 *   fleet. The fleet comes last: workers, agents, tuners, Temporal and Tritons are killed, and
 *   started again. TRITUNE_BENCH_TRIALS (16), TRITUNE_BENCH_STUDIES (1, at once) and
 *   TRITUNE_BENCH_BETWEEN_MS (8000) are for fleets.
 * - `--seed S` (1) of the moments.
 */
const all = [...kinds, 'fleet'] as const;
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '600' },
    only: { type: 'string', default: all.join(',') },
    results: { type: 'string', default: 'kills.jsonl' },
    seed: { type: 'string', default: '1' },
  },
});
const chosen = values.only.split(',').map((name) => {
  const kind = all.find((each) => each === name);
  if (!kind) throw new Error(`no kind ${name}: ${all.join(', ')}`);
  return kind;
});
const seed = Number(values.seed);
const most = Number(values.kills) / chosen.length;
const endMs = performance.now() + Number(values.minutes) * 60_000;
const program = resolve(import.meta.dirname, '../dist/cli/main.js');

// Commands that run in this process take signals for themselves. The servers end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const folder = await mkdtemp(join(tmpdir(), 'tritune-kills-'));
for (const [name, part] of Object.entries({
  TMPDIR: '',
  XDG_CONFIG_HOME: 'config',
  XDG_STATE_HOME: 'state',
  NODE_COMPILE_CACHE: 'compiled',
}))
  process.env[name] = join(folder, part);

const results = await readResults(values.results);
const killsOf = (kind: Result['kind']): number => results.filter((result) => result.kind === kind).length;
const add = async (found: readonly Result[]): Promise<void> => {
  await addResults(values.results, found);
  results.push(...found);
  for (const { kind, study, faults } of found)
    for (const { harm, what } of faults) console.log(`${kind}, study ${study}: ${harm}: ${what}`);
};
let study = Math.max(-1, ...results.filter((result) => result.seed === seed).map((result) => result.study)) + 1;
let serversLost = 0;

/** Kinds take turns, that with the fewest kills first. */
const nextKind = () =>
  kinds
    .filter((kind) => chosen.includes(kind) && killsOf(kind) < most)
    .sort((a, b) => killsOf(a) - killsOf(b))
    .at(0);

if (nextKind()) {
  let stage = await Stage.start(folder);
  for (let kind = nextKind(); kind && performance.now() < endMs; kind = nextKind()) {
    const kills = await new KilledStudy(stage, stage.subject(kind), seed * 1_000_000 + study, program).run();
    await add(kills.map((kill): Result => ({ kind, seed, study, ...kill })));
    console.log(`${results.length} kills; ${kind}, study ${study}: ${kills.map(({ phase }) => phase).join(', ')}`);
    study++;
    if (!stage.hasEnded) continue;
    serversLost++;
    await stage.close();
    stage = await Stage.start(folder);
  }
  await stage.close();
}
const left = chosen.includes('fleet') ? Math.ceil(most) - killsOf('fleet') : 0;
if (left > 0 && performance.now() < endMs) {
  const { killed, faults } = await FleetKills.run(seed * 1_000_000 + study, left);
  // What is found at the end is a fault of them all.
  const faultsAt = (at: number): Result['faults'] => (at === killed.length - 1 ? faults : []);
  await add(
    killed.map((phase, at): Result => ({ kind: 'fleet', seed, study, aim: null, phase, faults: faultsAt(at) })),
  );
}
const isSound = results.every(({ faults }) => faults.length === 0);
if (isSound) await rm(folder, { recursive: true, force: true });
console.log(`\n${tableOf(results, [...phases, ...processes])}`);
if (serversLost > 0) console.log(`Triton ended by itself ${serversLost} times; those studies do not count`);
process.exitCode = isSound ? 0 : 1;
