import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freshDirectory } from '../support/cli.ts';

/** A small search space around what is good for the sleeping model. */
const sleeperSpace = `
name: sleeper
parameters:
  instances: [4, 2]
  max_batch_size: [16]
  dynamic_batching: [on]
  queue_delay_us: [0, 1000]
`;

/** Instance counts only, of which the model refuses the last two. */
const instancesSpace = `
name: instances
parameters:
  instances: [2, 3, 4]
`;

async function written(name: string, text: string): Promise<string> {
  const path = join(await freshDirectory(), name);
  await writeFile(path, text);
  return path;
}

export const sleeperSpaceFile = (): Promise<string> => written('sleeper.yaml', sleeperSpace);
export const instancesSpaceFile = (): Promise<string> => written('instances.yaml', instancesSpace);
