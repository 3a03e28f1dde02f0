import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshDirectory } from '../support/run-directory.ts';

const spaces = {
  /** A small search space around what is good for the sleeping model. */
  sleeper: `
name: sleeper
parameters:
  instances: [4, 2]
  max_batch_size: [16]
  dynamic_batching: [on]
  queue_delay_us: [0, 1000]
`,
  /** Instance counts only, of which the model refuses the last two. */
  instances: `
name: instances
parameters:
  instances: [2, 3, 4]
`,
  /** Full loads, the first of which the model refuses. */
  batches: `
name: batches
parameters:
  instances: [3, 2]
  max_batch_size: [16]
`,
  /** A parameter of the model itself, beside its instances. */
  threads: `
name: threads
parameters:
  instances: [1, 2]
  threads:
    path: parameters.intra_op_thread_count.string_value
    values: ["1", "2"]
`,
} as const;

/** The file of one of the suite's search spaces. */
export async function spaceFile(name: keyof typeof spaces): Promise<string> {
  const path = join(await freshDirectory(), `${name}.yaml`);
  await writeFile(path, spaces[name]);
  return path;
}
