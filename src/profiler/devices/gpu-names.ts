import type { FollowLines } from '#launch/follow-lines.ts';

/** An idle driver can take a second or two. */
const LIMIT_MS = 3000;

/**
 * Returns the names of this machine's GPUs by UUID, as reported by the driver's own tool; empty
 * without such a tool. Never throws.
 */
export async function gpuNames(follow: FollowLines): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  await readTool(follow, ['--query-gpu=uuid,name', '--format=csv,noheader'], (line) => {
    const [, uuid, name] = /^((?:GPU|MIG)-[^,]+),\s*(.+?)\s*$/.exec(line) ?? [];
    if (uuid !== undefined && name !== undefined) names.set(uuid, name);
  });
  return names;
}

/** Reads what nvidia-smi prints, for three seconds at most. */
export async function readTool(
  follow: FollowLines,
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<void> {
  const tool = follow('nvidia-smi', args, onLine);
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LIMIT_MS);
  });
  await Promise.race([tool.ended, limit]);
  clearTimeout(timer);
  await tool.stop();
}
