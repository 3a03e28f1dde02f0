import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Assignment } from '#space/types.ts';
import { assess } from '#study/goal/goal.ts';
import { findChosen } from '#study/goal/ranking.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';
import { type JudgedCandidate, judgeInTurn, worthBeside } from './language-judge.ts';
import { type LanguageSubject, languageSubjects } from './language-subjects.ts';

/**
 * Tunes real language models with at most ten starts, and compares what is picked with the best of
 * a search through all candidates: one measurement of each scatters by a tenth, so both are then
 * measured in turn, for `TRITUNE_BENCH_ROUNDS` (8). Works in pieces of so many seconds,
 * `TRITUNE_BENCH_PIECE` (270), and goes on where it was when it is run again with the same folder:
 * `node bench/language.ts FOLDER [openai|triton|dynamo]`.
 */
const STARTS = 10;
const JUDGE_ROUNDS = Number(process.env.TRITUNE_BENCH_ROUNDS ?? 8);
const pieceMs = Number(process.env.TRITUNE_BENCH_PIECE ?? 270) * 1e3;
const main = resolve(import.meta.dirname, '../src/cli/main.ts');
const [folder = 'language-bench', only] = process.argv.slice(2);

await mkdir(folder, { recursive: true });
const endMs = performance.now() + pieceMs;
for (const subject of languageSubjects.filter(({ name }) => only === undefined || name === only)) {
  if (!(await study(subject))) {
    console.log('this piece is over: run it again to go on');
    break;
  }
}

/**
 * Runs what is left of both searches of a subject, and prints how they compare. Returns false where
 * time ran out.
 */
async function study(subject: LanguageSubject): Promise<boolean> {
  const directories = ['grid', 'search'].map((name) => resolve(folder, `${subject.name}-${name}`)) as [string, string];
  const [grid, search] = directories;
  const opened = await subject.open();
  let judged: readonly JudgedCandidate[] = [];
  try {
    const exhaustive = ['--sampler', 'grid', '--max-trials', '25'];
    const isDone =
      (await tuned(grid, [...opened.options, ...exhaustive])) &&
      (await tuned(search, [...opened.options, '--max-trials', String(STARTS - 1), '--seed', '7']));
    if (!isDone) return false;
    judged = await judgeInTurn(rivalsOf(await stateIn(grid), await stateIn(search)), opened.options, JUDGE_ROUNDS);
  } finally {
    await opened.close();
  }
  console.log(`\n${subject.name}`);
  report(await stateIn(grid), await stateIn(search), judged);
  return true;
}

async function stateIn(directory: string): Promise<StudyState> {
  return foldStudy(await readJournal(join(directory, 'journal.jsonl')));
}

/** Starts a study, or goes on with it. Returns true when it has ended by itself. */
async function tuned(directory: string, options: readonly string[]): Promise<boolean> {
  if (existsSync(join(directory, 'done'))) return true;
  const isThere = existsSync(join(directory, 'journal.jsonl'));
  if (endMs - performance.now() < 20_000) return false;
  const where = isThere ? ['--resume', directory, ...addressIn(options)] : [...options, '-o', directory];
  const child = spawn(process.execPath, [main, 'tune', ...where, '--ui', 'lines'], { stdio: 'inherit' });
  const timer = setTimeout(() => child.kill('SIGINT'), endMs - performance.now());
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  if (code !== 0 && code !== 3) return false;
  await mkdir(join(directory, 'done'));
  return true;
}

/** A server of the subject's own may be at another address now. */
function addressIn(options: readonly string[]): readonly string[] {
  const named = (name: string): readonly string[] => {
    const at = options.indexOf(name);
    return at < 0 ? [] : options.slice(at, at + 2);
  };
  return [...named('-u'), ...named('--metrics-url')];
}

interface RankedTrial {
  readonly trial: Trial;
  readonly cost: number;
  readonly feasible: boolean;
}

/** Candidates of an exhaustive search, the best feasible one first. */
function ranked(grid: StudyState): RankedTrial[] {
  const judged = grid.trials.flatMap((trial) => {
    const chosen = findChosen(trial);
    return chosen ? [{ trial, ...assess(chosen, trial.candidate, grid.goal) }] : [];
  });
  return judged.sort((a, b) => Number(b.feasible) - Number(a.feasible) || a.cost - b.cost);
}

/** The search's pick and the exhaustive search's best; none where they are the same. */
function rivalsOf(grid: StudyState, search: StudyState): readonly Assignment[] {
  const [best, pick] = [ranked(grid)[0]?.trial.candidate, search.best?.candidate];
  return !best || !pick || best.fingerprint === pick.fingerprint ? [] : [pick.assignment, best.assignment];
}

function report(grid: StudyState, search: StudyState, [pick, rival]: readonly JudgedCandidate[]): void {
  const all = ranked(grid);
  const feasible = all.filter((each) => each.feasible);
  console.log(`${all.length} candidates measured by the exhaustive search, ${feasible.length} of them feasible`);
  for (const { trial, cost, feasible: isFeasible } of all.slice(0, 5))
    console.log(
      `  ${JSON.stringify(trial.candidate.assignment)}: ${Math.exp(-cost).toFixed(1)} tokens/s${isFeasible ? '' : ', misses'}`,
    );
  if (!search.best) {
    console.log('nothing to compare');
    return;
  }
  const starts = search.trials.filter(({ applied }) => applied?.change === 'full').length;
  console.log(`picked after ${starts} starts: ${JSON.stringify(search.best.candidate.assignment)}`);
  if (search.gain?.gain) {
    const { value, low, high } = search.gain.gain;
    console.log(`gain over the original: ${value.toFixed(2)} (95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`);
  }
  const share = pick && rival ? worthBeside(pick, rival) : 1;
  const how = pick
    ? `in turn, ${JUDGE_ROUNDS} rounds; the limits kept in ${pick.feasibleRounds}`
    : 'both picked the same';
  console.log(`share of the optimum: ${(100 * share).toFixed(1)} % (${how})`);
}
