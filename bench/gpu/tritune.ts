import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { classifyRefusal } from '#triton/control/refusal.ts';
import type { Machine } from './machine.ts';
import { follow } from './processes.ts';
import { makeRepository, prepareServing } from './serving.ts';
import type { Kind, Size, Subject } from './subjects.ts';

/** The task of one call of the script. */
export interface Task {
  readonly work: string;
  readonly results: string;
  readonly machine: Machine;
  readonly size: Size;
  readonly seconds: number;
  /**
   * Where instances are, the first choice first; undefined: the GPU, if the models need one and
   * Triton sees it.
   */
  readonly kinds: readonly Kind[] | undefined;
  /** Of tritune, beside the part's own. */
  readonly options: readonly string[];
}

/** Seconds for a command to restore the model and write its results after its time is over. */
const GRACE_SECONDS = 60;

/**
 * Runs the archive's tritune on a server of its own that has the one model, and gives the exit
 * code. `args`: the command, and its options beside those about the server. A Triton that sees no
 * GPU refuses instances on it; the model finds the GPU all the same when they are on the CPU by the
 * server's books.
 */
export async function tritune(
  task: Task,
  subject: Subject,
  args: readonly string[],
  { log, afresh = async () => undefined }: { readonly log: string; readonly afresh?: () => Promise<void> },
): Promise<number> {
  const { work, results, machine, size, seconds, options } = task;
  const env = await prepareServing(work, machine);
  await writeFile(join(results, 'machine.json'), JSON.stringify(machine, null, 2));
  const kinds = task.kinds ?? (size === 'full' ? ['gpu', 'cpu'] : ['cpu']);
  let code = 1;
  for (const kind of kinds) {
    const repository = await makeRepository(work, subject, size, kind);
    // A resumed command knows them already.
    const server = args.includes('--resume') ? [] : ['--launch', 'local', '--model-repository', repository];
    const program = join(work, args[0] === 'record' ? 'app/lab/code/tritune-lab.js' : 'app/dist/cli/main.js');
    const outcome = await follow(process.execPath, [program, ...args, ...server, ...options], {
      env,
      log: join(results, log),
      seconds: seconds + GRACE_SECONDS,
    });
    code = outcome.code ?? 1;
    if (kinds.length === 1 || classifyRefusal(outcome.output) !== 'no-gpu') break;
    console.log('this Triton sees no GPU: its instances are on the CPU by its books');
    await afresh();
  }
  return code;
}
