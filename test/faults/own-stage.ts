import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { toFailure } from '#cli/failure.ts';
import { createProgram } from '#cli/program.ts';
import type { Terminal } from '#cli/terminal.ts';
import type { Faults } from '#emulator/faults.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import type { CliOutcome, RunningCli } from '../support/cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { isNightly } from '../support/fuzz.ts';
import { recordsOf } from '../support/run-directory.ts';

/** A server with these models, and a way to see what each serves. */
export interface OwnStage {
  readonly url: string;
  readonly client: TritonClient;
  /** The model's config, read back, is the one that it had at first. */
  isOriginal(model: string): Promise<boolean>;
}

const LOOK_EVERY_MS = 50;
/** Of every execution: so long that neither side is busy. */
const EXECUTION_MS = 8;
/** Each so much faster than the one before that the final need not be long. */
const CANDIDATES = [{ instances: 2 }, { instances: 4 }];

/** The models of `smallProfile` under other names, on one emulator that ends with the test. */
export async function stageOf(models: readonly string[] = ['m'], faults: Faults = {}): Promise<OwnStage> {
  const emulator = await emulatorForTest({ profile: profileOf(models), faults });
  const client = connectGrpc(emulator.grpcUrl);
  const originals = new Map<string, ModelConfig>();
  for (const model of models) originals.set(model, await client.modelConfig(model));
  return {
    url: emulator.grpcUrl,
    client,
    isOriginal: async (model) =>
      compareConfigs(originals.get(model) as ModelConfig, await client.modelConfig(model)).length === 0,
  };
}

function profileOf(names: readonly string[]): EmulatorProfile {
  const { models, ...profile } = smallProfile({ a: EXECUTION_MS });
  const [model] = models;
  return emulatorSchema.parse({
    ...profile,
    models: names.map((name) => ({ ...model, config: { ...model?.config, name } })),
  });
}

/** The arguments of a run of some ten seconds: the original config, two others, and a final. */
export const shortRun = (model: string, url: string, output: string, ...more: string[]): string[] => [
  ...['tune', '-m', model, '-u', url, '-o', output, '--sampler', 'manual', '--candidates', candidatesFile()],
  // Studies of two models of one server run side by side: the requests of one are not to be taken
  // for calls of the other.
  ...['--concurrency', '4:4', '--precision', '25', '--bls-composing', 'none', ...more],
];

function candidatesFile(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'tritune-own-')), 'candidates.json');
  writeFileSync(path, JSON.stringify(CANDIDATES));
  return path;
}

/**
 * What the command line does with these arguments, in this process: what has to be a process of its
 * own takes a second to start.
 */
export async function runHere(
  args: readonly string[],
  create: (terminal: Terminal, args: readonly string[]) => Promise<Command> = createProgram,
): Promise<Pick<CliOutcome, 'code' | 'stdout' | 'stderr'>> {
  const [printed, told]: [string[], string[]] = [[], []];
  const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('');
  const terminal = {
    print: (line: string) => void printed.push(line),
    tell: (line: string) => void told.push(line),
    status: () => undefined,
  };
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    await (await create(terminal, args)).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const { line, exitCode } = toFailure(error, false);
    if (line !== null) told.push(line);
    process.exitCode = exitCode;
  }
  const code = Number(process.exitCode);
  process.exitCode = before;
  return { code, stdout: lines(printed), stderr: lines(told) };
}

/**
 * The first `usual` of the cases; all of them at night: each starts processes, which takes its
 * second.
 */
export const casesOf = <T>(usual: number, cases: readonly T[]): readonly T[] =>
  isNightly ? cases : cases.slice(0, usual);

/** True for the record with which a config other than the original is on the server. */
export const isOnServer = (record: { readonly type: string; readonly trial?: number }): boolean =>
  record.type === 'trial-applied' && record.trial === 1;

/** Waits until a run in this process is so far. Fails with the test's own deadline. */
export async function untilOnServer(output: string): Promise<void> {
  while (!(await recordsOf(output)).some(isOnServer)) await sleep(LOOK_EVERY_MS);
}

/** The last line that the run has printed, or told where it printed none. */
export const lastLineOf = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** What a run does not do: go on for ever. */
export async function endsWithin<T>(ms: number, running: RunningCli, end: Promise<T>): Promise<T> {
  const tooLate = sleep(ms, undefined, { ref: false }).then(() => {
    running.child.kill('SIGKILL');
    throw new Error(`the run did not end within ${ms} ms`);
  });
  return Promise.race([end, tooLate]);
}
