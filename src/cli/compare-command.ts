import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { messageOf, TrituneError } from '../base/errors.ts';
import { decideGate, type GateDecision } from '../report/gate/decide.ts';
import { gateAnnotations, gateJson, gateJUnit, gateMarkdown } from '../report/gate/documents.ts';
import { type GateDocument, readGateDocument } from '../report/gate/readings.ts';
import { comparisonLine, decisionLine } from '../report/gate/words.ts';
import { exitCodes } from './exit-codes.ts';
import { addOptions, type OptionTable } from './option-table.ts';
import type { Terminal } from './terminal.ts';

interface CompareOptions {
  readonly tolerance: number;
  readonly confidence: number;
  readonly junit?: string;
  readonly json?: string;
  readonly markdown?: string;
  readonly github?: boolean;
}

const table: OptionTable<CompareOptions> = {
  tolerance: {
    flags: '--tolerance <percent>',
    help: 'changes for the worse up to so much are borne',
    parse: (text) => percentBelow(text, 0, 90),
    default: 2,
  },
  confidence: {
    flags: '--confidence <percent>',
    help: 'how sure a regression must be, over all figures together',
    parse: (text) => percentBelow(text, 50, 99.9999),
    default: 99,
  },
  junit: { flags: '--junit <file>', help: 'write the figures as test cases, for test reporters' },
  json: { flags: '--json <file>', help: 'write everything that was compared as JSON' },
  markdown: { flags: '--markdown <file>', help: "append a table, such as to GitHub's $GITHUB_STEP_SUMMARY" },
  github: { flags: '--github', help: 'print annotations of GitHub Actions (default: when it runs there)' },
};

/** `tritune compare BASELINE RUN`: the gate. Exits with 5 when the run is surely worse than the baseline. */
export function compareCommand(terminal: Terminal): Command {
  const command = new Command('compare')
    .description('decide by their intervals whether a run is worse than a baseline')
    .argument('<baseline>', 'a summary.json, the directory of a run, or a file of profile --json')
    .argument('<run>', 'the same of what is to be judged');
  return addOptions(command, table).action(async (baseline: string, run: string, options: CompareOptions) => {
    const rule = { tolerance: options.tolerance / 100, confidence: options.confidence / 100 };
    const decision = decideGate(await read(baseline), await read(run), rule);
    await write(decision, options);
    for (const fault of decision.faults) terminal.print(`${fault}: REGRESSION`);
    for (const comparison of decision.comparisons) terminal.print(comparisonLine(comparison));
    if (options.github ?? process.env.GITHUB_ACTIONS === 'true') {
      for (const line of gateAnnotations(decision)) terminal.print(line);
    }
    terminal.print(decisionLine(decision));
    process.exitCode = decision.isRegression ? exitCodes.regression : exitCodes.done;
  });
}

/** Errors: INPUT_INVALID. */
async function read(path: string): Promise<GateDocument> {
  try {
    const file = (await stat(path)).isDirectory() ? join(path, 'summary.json') : path;
    return readGateDocument(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${path}: ${messageOf(error)}`,
      'give a file or a run directory',
    );
  }
}

/** The summary page of a job may have other parts, so its table is added at the end. */
async function write(decision: GateDecision, { junit, json, markdown }: CompareOptions): Promise<void> {
  try {
    if (junit !== undefined) await writeFile(junit, gateJUnit(decision));
    if (json !== undefined) await writeFile(json, gateJson(decision));
    if (markdown !== undefined) await writeFile(markdown, gateMarkdown(decision), { flag: 'a' });
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write: ${messageOf(error)}`, 'name another file');
  }
}

function percentBelow(text: string, low: number, high: number): number {
  const value = Number(text.replace(/ ?%$/, ''));
  if (text.trim() !== '' && value >= low && value <= high) return value;
  throw new TrituneError('USAGE', `'${text}' is no percentage here`, `give ${low} to ${high}`);
}
