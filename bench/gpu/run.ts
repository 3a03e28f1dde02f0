import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { machineOf, problemsOf, stoppedBy } from './machine.ts';
import { nextStudy, record, transports, tune } from './parts.ts';
import { prepareServing, triedImports } from './serving.ts';
import { sizes, subjectNamed } from './subjects.ts';
import type { Task } from './tritune.ts';

/**
 * The parts of a proof on a GPU, for the machine that has it; `run.sh` starts it. One call is one
 * part, and ends within ten minutes.
 *
 * check                what is on the machine, and what would go wrong
 * tune MODEL BUDGET    one study, into RESULTS/MODEL-BUDGET; goes on with one that was cut off, and
 *                      leaves a finished one alone
 * next                 the first study of all models and budgets that is not finished
 * record MODEL         every candidate of a small space at every level, into
 *                      RESULTS/MODEL-grid.json; several calls
 * transports MODEL     the original config with tensors in messages, in system shared memory and on
 *                      the GPU, into RESULTS/MODEL-*.csv
 *
 * --results DIR   where results go, and where those of earlier calls lie (default: gpu-results)
 * --size SIZE     full, or tiny for a machine without a GPU (default: full)
 * --seconds N     of one study, the final included, and of one call of record (default: 480)
 * --kind KIND     where instances are, gpu or cpu (default: gpu, and cpu where Triton sees no GPU)
 * Everything after -- goes to tritune.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: 'string' },
    results: { type: 'string', default: 'gpu-results' },
    size: { type: 'string', default: 'full' },
    seconds: { type: 'string', default: '480' },
    kind: { type: 'string' },
  },
});
const size = sizes.find((each) => each === values.size);
if (size === undefined || values.work === undefined)
  throw new Error(`--work DIR, and a --size of ${sizes.join(' or ')}`);
const kind = (['gpu', 'cpu'] as const).find((each) => each === values.kind);
const [work, results] = [resolve(values.work), resolve(values.results)];
const machine = await machineOf(work);
await mkdir(results, { recursive: true });

const [part, ...words] = positionals;
const taskOf = (options: readonly string[]): Task => {
  const obstacle = stoppedBy(machine, size);
  if (obstacle !== null) throw new Error(obstacle);
  return { work, results, machine, size, seconds: Number(values.seconds), kinds: kind ? [kind] : undefined, options };
};
const parts: Readonly<Record<string, () => Promise<number>>> = {
  check: async () => {
    console.log(JSON.stringify(machine, null, 2));
    for (const problem of problemsOf(machine, size)) console.log(`problem: ${problem}`);
    await prepareServing(work, machine);
    console.log(`models import: ${await triedImports(work)}`);
    return stoppedBy(machine, size) === null ? 0 : 1;
  },
  tune: () => tune(taskOf(words.slice(2)), subjectNamed(words[0]), Number(words[1])),
  next: () => nextStudy(taskOf(words)),
  record: () => record(taskOf(words.slice(1)), subjectNamed(words[0])),
  transports: () => transports(taskOf(words.slice(1)), subjectNamed(words[0])),
};
const run = parts[part ?? ''];
if (!run) throw new Error(`there is no part '${part ?? ''}'; there are ${Object.keys(parts).join(', ')}`);
process.exitCode = await run();
