import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import { pick, type Random, seededRandom } from '#base/random.ts';
import { toModelConfigs } from '#space/model-configs.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { callCli } from '../../test/support/call-cli.ts';
import { type CliOutcome, startCli } from '../../test/support/cli.ts';
import { repeatedTrials } from '../../test/support/killed-study.ts';
import { recordsOf } from '../../test/support/run-directory.ts';
import { type Aim, killAt, type Phase, type Target, wholeLines } from './moments.ts';
import { lostInPowerCuts } from './power-cuts.ts';
import type { Harm, Result } from './results.ts';
import type { Served, Stage } from './stage.ts';
import type { Subject } from './subjects.ts';

type Fault = Result['faults'][number];
interface Killed {
  readonly aim: Aim;
  readonly phase: Phase;
  readonly faults: Fault[];
}

const MAX_KILLS = 6;
/** A load that a killed run left under way comes to its end. */
const SETTLE_MS = 300;
const LOOK_MS = 20;
const SLOW_WRITES = new URL('./slow-writes.ts', import.meta.url).href;
const RESUME_SHARE = 0.15;
const RESTORE_FIRST_SHARE = 0.25;

/**
 * One study, which is killed several times, restored or resumed between, and restored at the end.
 */
export class KilledStudy {
  readonly #stage: Stage;
  readonly #subject: Subject;
  readonly #random: Random;
  /** The built `dist/cli/main.js`. */
  readonly #program: string;
  readonly #kills: Killed[] = [];
  #folder = '';
  #original: Served = {};
  #configs: Readonly<Record<string, ModelConfig>> = {};
  #before: readonly StudyRecord[] = [];

  constructor(stage: Stage, subject: Subject, seed: number, program: string) {
    this.#stage = stage;
    this.#subject = subject;
    this.#random = seededRandom(seed);
    this.#program = program;
  }

  /**
   * Returns its kills, with what was wrong after each; none if the server ended by itself. Leaves
   * its files: a run whose journal is gone is taken for one that left the model changed.
   */
  async run(): Promise<readonly Killed[]> {
    const { models, kind } = this.#subject;
    this.#folder = await mkdtemp(join(this.#stage.folder, `${kind}-`));
    await mkdir(this.#directory);
    this.#original = await this.#stage.served(models);
    this.#configs = Object.fromEntries(
      await Promise.all(models.map(async (model) => [model, await this.#stage.client.modelConfig(model)] as const)),
    );
    try {
      await (kind === 'capacity' ? this.#killCapacity() : this.#killStudy());
    } catch (error) {
      this.#fault('other', formatMessage(error));
    }
    if (this.#stage.hasEnded) return [];
    return this.#kills;
  }

  get #directory(): string {
    return join(this.#folder, 'run');
  }

  #fault(harm: Harm, what: string): void {
    if (this.#kills.length === 0) this.#kills.push({ aim: 'any', phase: 'end', faults: [] });
    this.#kills.at(-1)?.faults.push({ harm, what: `${what} (${this.#folder})` });
  }

  /** A capacity changes nothing on the server. */
  async #killCapacity(): Promise<void> {
    await this.#kill('any', this.#subject.command(''));
    await this.#checkServed();
    await this.#checkNextRun();
  }

  async #killStudy(): Promise<void> {
    for (let left = this.#random.int(1, MAX_KILLS); left > 0 && !this.#stage.hasEnded; left--) {
      const anew = this.#subject.command(this.#directory);
      const command = this.#isBegun ? ['tune', '--resume', this.#directory, '--ui', 'lines'] : anew;
      if (!(await this.#kill(this.#aim(), command))) break;
      await this.#checkJournal();
      await this.#checkNextRun();
      if (this.#isBegun && this.#random.float() < 0.4) await this.#restoreBetween();
    }
    if (!this.#stage.hasEnded) await this.#end();
  }

  get #isBegun(): boolean {
    return wholeLines(this.#directory) !== '';
  }

  #aim(): Aim {
    const { uploadBytes } = this.#subject;
    const share = this.#random.float();
    if (uploadBytes > 0 && share < 0.3) return 'upload';
    return pick<Aim>(['any', 'any', 'load', 'load', 'restore', 'journal write', 'journal write'], this.#random);
  }

  /**
   * Kills a command at a moment of that kind. False if it ended before, which must have been in
   * order.
   */
  async #kill(aim: Aim, args: readonly string[]): Promise<boolean> {
    const { log } = this.#stage;
    const before = wholeLines(this.#directory);
    const does = args[0] as Target['does'];
    const env: Record<string, string> = aim === 'journal write' ? { NODE_OPTIONS: `--import=${SLOW_WRITES}` } : {};
    const running = startCli(args, { program: this.#program, env });
    const { uploadBytes } = this.#subject;
    const target = { running, directory: this.#directory, log, uploadBytes, before, does };
    const kill = await killAt(aim, target, this.#random);
    if (kill) {
      this.#kills.push({ aim, phase: kill.phase, faults: [] });
      if (!wholeLines(this.#directory).startsWith(kill.written)) this.#fault('lost', 'lines that had been written');
      return true;
    }
    if (!this.#stage.hasEnded) this.#checkEnd(await running.ended, [0, 3, 130]);
    return false;
  }

  #checkEnd({ code, stderr }: Pick<CliOutcome, 'code' | 'stderr'>, codes: readonly number[]): void {
    if (codes.includes(code ?? -1)) return;
    this.#fault('other', `ended with ${code}: ${stderr.trim()}`);
  }

  /** What has been written is there after any kill, and can be read. */
  async #checkJournal(): Promise<void> {
    if (!this.#isBegun) return;
    try {
      const records = await readJournal(join(this.#directory, 'journal.jsonl'));
      foldStudy(records);
      if (!isDeepStrictEqual(records.slice(0, this.#before.length), this.#before))
        this.#fault('lost', 'records of an earlier run');
      for (const fault of repeatedTrials(records)) this.#fault('lost', fault);
      this.#before = records;
    } catch (error) {
      this.#fault('lost', formatMessage(error));
    }
  }

  /** A run that begins now is refused, or finds the original. */
  async #checkNextRun(): Promise<void> {
    const { models, command, kind } = this.#subject;
    const next =
      kind === 'capacity'
        ? ['doctor', ...command('').slice(1, 5)]
        : [...command(join(this.#folder, 'next')), '--dry-run'];
    const { code, stdout, stderr } = await callCli(next);
    await this.#settle();
    const after = await this.#stage.served(models);
    if (code === 0 && !isDeepStrictEqual(after, this.#original))
      this.#fault('taken for the original', this.#differences(after));
    if (code === 2 && !`${stdout}${stderr}`.includes('MODEL_LEFT_CHANGED'))
      this.#fault('other', `the next run: ${stdout}${stderr}`);
    if (code !== 0 && code !== 2) this.#fault('other', `the next run ended with ${code}: ${stdout}${stderr}`);
  }

  /** Restores, and may be killed in that as well. */
  async #restoreBetween(): Promise<void> {
    if (this.#random.float() < 0.6) {
      const aim = pick<Aim>(['any', 'restore', 'restore', 'journal write'], this.#random);
      if (await this.#kill(aim, ['restore', this.#directory])) await this.#checkJournal();
    }
    await this.#restore();
  }

  async #restore(): Promise<void> {
    this.#checkEnd(await callCli(['restore', this.#directory]), [0]);
    await this.#checkServed();
    await this.#checkJournal();
  }

  async #end(): Promise<void> {
    if (this.#isBegun) {
      const journal = await readFile(join(this.#directory, 'journal.jsonl'));
      for (const fault of lostInPowerCuts(journal, this.#random)) this.#fault('lost', fault);
    }
    const way = this.#random.float();
    if (!this.#isBegun) return this.#checkServed();
    if (way < RESUME_SHARE) {
      this.#checkEnd(await callCli(['tune', '--resume', this.#directory, '--ui', 'lines']), [0, 3]);
      await this.#checkServed();
      return this.#checkJournal();
    }
    if (way > RESUME_SHARE + RESTORE_FIRST_SHARE) return this.#restore();
    const output = join(this.#folder, 'next');
    const short = ['--restore-first', '--max-trials', '1', '--time-budget', '2s'];
    this.#checkEnd(await callCli([...this.#subject.command(output), ...short]), [0, 3]);
    const [started] = await recordsOf(output);
    if (started?.type === 'study-started') this.#checkOriginal(toModelConfigs(started.original));
    await this.#checkServed();
  }

  #checkOriginal(found: Readonly<Record<string, ModelConfig>>): void {
    for (const [model, config] of Object.entries(found)) {
      const original = this.#configs[model === '' ? (this.#subject.models[0] ?? '') : model];
      const differences = original ? compareConfigs(original, config) : [];
      if (differences.length > 0) this.#fault('taken for the original', `${model}: ${JSON.stringify(differences)}`);
    }
  }

  /** Byte for byte, now and when all loads have come to their end. */
  async #checkServed(): Promise<void> {
    const { models } = this.#subject;
    for (const wait of [async () => undefined, () => this.#settle()]) {
      await wait();
      const served = await this.#stage.served(models);
      if (!isDeepStrictEqual(served, this.#original)) return this.#fault('unrestored', this.#differences(served));
    }
    for (const model of models)
      if ((await this.#stage.client.runMark(model)) !== null)
        this.#fault('unrestored', `${model} has the mark of a run`);
  }

  async #settle(): Promise<void> {
    await realClock.sleep(SETTLE_MS);
    while (this.#stage.log.isLoading && !this.#stage.hasEnded) await realClock.sleep(LOOK_MS);
  }

  #differences(served: Served): string {
    const other = Object.entries(served).filter(([name, text]) => text !== this.#original[name]);
    return other.map(([name, text]) => `${name}: ${text}`).join('; ');
  }
}
