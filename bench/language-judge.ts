import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from 'simple-statistics';
import type { Assignment } from '#space/types.ts';
import { assess } from '#study/goal/goal.ts';
import { findChosen } from '#study/goal/ranking.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';

const main = resolve(import.meta.dirname, '../src/cli/main.ts');

/**
 * A candidate as the rounds of a judgement saw it: ln(tokens/s) by round, NaN where nothing was
 * measured, and in how many it kept the limits.
 */
export interface JudgedCandidate {
  readonly candidate: Assignment;
  readonly logs: readonly number[];
  readonly feasibleRounds: number;
}

/**
 * Measures these candidates in turn, `rounds` times, by grid searches of nothing else. `options`
 * are those of the search, with `--space` among them. Every round starts each candidate once, so a
 * drift of the machine meets all of them alike.
 */
export async function judgeInTurn(
  candidates: readonly Assignment[],
  options: readonly string[],
  rounds: number,
): Promise<JudgedCandidate[]> {
  if (candidates.length === 0) return [];
  const directory = await mkdtemp(join(tmpdir(), 'tritune-judge-language-'));
  const at = options.indexOf('--space');
  const space = join(directory, 'space.yaml');
  await writeFile(space, spaceOfOnly(candidates, options[at + 1] as string));
  const judged = candidates.map((candidate) => ({ candidate, logs: [] as number[], feasibleRounds: 0 }));
  for (let round = 1; round <= rounds; round++) {
    const run = join(directory, `round-${round}`);
    const words = [...options.slice(0, at), '--space', space, ...options.slice(at + 2)];
    const child = spawn(process.execPath, [main, 'tune', ...words, '--sampler', 'grid', '-o', run, '--ui', 'none']);
    await once(child, 'exit');
    const { trials, goal } = foldStudy(await readJournal(join(run, 'journal.jsonl')));
    for (const each of judged) {
      const trial = trials.find(({ candidate }) => keyOf(candidate.assignment) === keyOf(each.candidate));
      const chosen = trial && findChosen(trial);
      const seen = trial && chosen ? assess(chosen, trial.candidate, goal) : undefined;
      each.logs.push(seen ? -seen.cost : Number.NaN);
      if (seen?.feasible) each.feasibleRounds++;
    }
  }
  return judged;
}

/**
 * What `one` is worth beside `other`: the median over the rounds of the ratio of their figures in
 * the same round.
 */
export function worthBeside(one: JudgedCandidate, other: JudgedCandidate): number {
  const ratios = one.logs.map((log, round) => Math.exp(log - (other.logs[round] as number)));
  return median(ratios.filter(Number.isFinite));
}

/** The assignment as a text that does not depend on the order of its parameters. */
const keyOf = (assignment: Assignment): string =>
  JSON.stringify(Object.entries(assignment).sort(([a], [b]) => (a < b ? -1 : 1)));

function spaceOfOnly(candidates: readonly Assignment[], base: string): string {
  const one = (candidate: Assignment): string =>
    `(${Object.entries(candidate)
      .map(([name, value]) => `${name} == ${JSON.stringify(value)}`)
      .join(' and ')})`;
  return JSON.stringify({
    extends: base,
    rules: [{ name: 'judged', require: candidates.map(one).join(' or '), message: 'only what is judged is measured' }],
  });
}
