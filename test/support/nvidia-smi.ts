import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * The driver's tool as a script that tells these lines, half of a second apart, until it is ended;
 * a directory for PATH.
 */
export async function fakeNvidiaSmi(lines: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-smi-'));
  const file = join(directory, 'nvidia-smi');
  const script = `#!/bin/sh
case "$*" in
  *--query-gpu=uuid,utilization.gpu,memory.used,memory.total,power.draw,clocks.sm*--format=csv,noheader,nounits*) ;;
  *) echo 'Invalid combination of input arguments.'; exit 6 ;;
esac
echo $$ >> ${directory}/started
while :; do
${lines.map((line) => `  echo '${line}'`).join('\n')}
  sleep 0.5
done
`;
  await writeFile(file, script);
  await chmod(file, 0o755);
  return directory;
}

/** The search path with the directory before the others. */
export const pathWith = (directory: string): string => [directory, process.env.PATH].join(delimiter);
