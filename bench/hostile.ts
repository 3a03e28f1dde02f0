import { type ChildProcess, fork } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import type { TuneOptions } from '#library/options.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import {
  HOSTILE_BUDGET_S,
  type HostileCase,
  hostileOptions,
  hostileProfile,
  isMisled,
  pairCase,
  singleCases,
} from '../test/support/hostile-cases.ts';
import { startHostileServer } from '../test/support/hostile-server.ts';
import type { StudyEnd, StudyOrder } from './hostile-studies.ts';

/**
 * Studies against a server whose answers lie:
 * `npm run bench:hostile -- --studies 10000 --seed 1 --log FILE`. Half of them have each field of
 * each answer by each odd value, over gRPC and HTTP; the others change two fields at once, from a
 * random answer on. A study must end within twice its time budget, not counting the time in which
 * its process waited for a core, with a code or done, in a process below 1 GB, with a journal that
 * can be read; the model must be as it was, or the study says that it is not. The log gets a line
 * for each study; those that it has are not run again, so that pieces add up.
 */
const { values } = parseArgs({
  options: {
    studies: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    at: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    log: { type: 'string' },
  },
});
const LIMIT_S = 2 * HOSTILE_BUDGET_S;
/** A process that takes longer is killed, and counts as hung. */
const HUNG_S = 120;
const LIMIT_BYTES = 1e9;
/** In one process. */
const STUDIES_AT_ONCE = 3;
/** Of an error. */
const MAX_LETTERS = 5_000;

let isOver = false;
const random = seededRandom(Number(values.seed));
const singles: HostileCase[] = [...singleCases(random)].filter(({ name }) => name.includes(values.only));
/** Every other one of these changes two fields. */
const mixed = Array.from({ length: Number(values.studies) }, (_, at) =>
  at % 2 === 1 ? pairCase(random) : (singles[at / 2] ?? pairCase(random)),
);

interface Outcome extends Omit<StudyEnd, 'id'> {
  readonly case: string;
  readonly isAsBefore: boolean;
  readonly found: readonly string[];
}
const kept: readonly Outcome[] =
  values.log && existsSync(values.log)
    ? readFileSync(values.log, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Outcome)
    : [];
const isKept = new Set(kept.map((outcome) => outcome.case));
const cases = (values.only === '' ? mixed : singles).filter(({ name }) => !isKept.has(name));

const folder = await mkdtemp(join(tmpdir(), 'tritune-hostile-'));

/** The process with the studies, and those that wait for their end. */
class Studies {
  readonly #waiting = new Map<number, (end: StudyEnd | null) => void>();
  #process: ChildProcess;
  #next = 0;

  constructor() {
    this.#process = this.#start();
  }

  #start(): ChildProcess {
    const env = {
      ...process.env,
      TMPDIR: folder,
      XDG_CONFIG_HOME: join(folder, 'config'),
      XDG_STATE_HOME: join(folder, 'state'),
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    };
    const child = fork(join(import.meta.dirname, 'hostile-studies.ts'), {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.on('message', (end: StudyEnd) => {
      this.#waiting.get(end.id)?.(end);
      this.#waiting.delete(end.id);
    });
    child.on('exit', () => {
      for (const tell of this.#waiting.values()) tell(null);
      this.#waiting.clear();
      if (this.#process === child && !isOver) this.#process = this.#start();
    });
    return child;
  }

  /** A fresh process for what comes. */
  restart(): Promise<void> {
    const ended = new Promise<void>((done) => this.#process.once('exit', () => done()));
    this.#process.kill();
    return ended;
  }

  /** Returns null when the process ended, or was killed because the study had no end. */
  run(options: TuneOptions): Promise<StudyEnd | null> {
    const id = this.#next++;
    const process = this.#process;
    return new Promise((done) => {
      const timer = setTimeout(() => process.kill('SIGKILL'), HUNG_S * 1e3);
      this.#waiting.set(id, (end) => {
        clearTimeout(timer);
        done(end);
      });
      process.send({ id, options } satisfies StudyOrder);
    });
  }

  close(): void {
    this.#process.kill();
  }
}

const counts = new Map<string, number>();
const faults: string[] = [];
let [worstSeconds, peakBytes, ended, unchanged] = [0, 0, 0, 0];
let [slowest, heaviest, alone, changed] = ['', '', 0, 0];
const netSeconds = ({ seconds, waitedSeconds }: Pick<StudyEnd, 'seconds' | 'waitedSeconds'>): number =>
  seconds - waitedSeconds;

function count({ case: name, code, isAsBefore, found, ...end }: Outcome): void {
  ended++;
  counts.set(code, (counts.get(code) ?? 0) + 1);
  if (!isAsBefore) changed++;
  const seconds = netSeconds(end);
  if (seconds > worstSeconds) [worstSeconds, slowest] = [seconds, name];
  if (end.peakBytes > peakBytes) [peakBytes, heaviest] = [end.peakBytes, name];
  faults.push(...found.map((fault) => `${name}: ${code}: ${fault}`));
}
for (const outcome of kept) count(outcome);
const again: HostileCase[] = [];

/**
 * Runs the case on a server that nobody else uses, and looks for faults; `isAlone`: nothing else
 * runs.
 */
async function play(each: HostileCase, studies: Studies, isAlone: boolean): Promise<void> {
  const server = await startHostileServer(hostileProfile);
  const sound = connectGrpc(server.soundUrl, { defaultTimeoutMs: 20_000 });
  const options = hostileOptions(each, server);
  const model = options.model as string;
  const state = async (): Promise<string> =>
    canonicalJson([await sound.modelReady(model), await sound.modelConfig(model).catch(String)] as never);
  const before = await state();
  server.alter(each.alterations);
  const end = await studies.run(options);
  if (server.alter([]) === 0) unchanged++;
  const isAsBefore = (await state()) === before;
  await sound.close();
  await server.close();
  const code = end?.code ?? 'HUNG';
  // What takes long or much memory beside others may only have waited for them, or shared with
  // them.
  const isLate = end === null || netSeconds(end) > LIMIT_S;
  const isHeavy = (end?.peakBytes ?? 0) > LIMIT_BYTES;
  // A study that could not restore its model leaves a note on that for the address, which the next
  // server may have.
  const isMixedUp = code === 'MODEL_LEFT_CHANGED';
  if ((isLate || isHeavy || isMixedUp) && !isAlone) {
    again.push(each);
    return;
  }
  if (isAlone) alone++;
  const found = [
    ...(isLate ? [`took ${end ? `${netSeconds(end).toFixed(1)} s` : 'for ever'}`] : []),
    ...((end?.message.length ?? 0) > MAX_LETTERS && !['INTERNAL', 'UNCODED'].includes(code)
      ? ['an error of many letters']
      : []),
    ...(['INTERNAL', 'UNCODED', 'UNREADABLE', 'RECORD_INVALID'].includes(code) ? [end?.message ?? ''] : []),
    ...(isHeavy ? [`the process held ${((end?.peakBytes ?? 0) / 1e6).toFixed(0)} MB`] : []),
    ...(!isAsBefore && !isMisled(each) && end?.restored !== false && code !== 'RESTORE_FAILED'
      ? [`left the model changed and said ${end?.restored}`]
      : []),
  ];
  const nothing = { message: '', seconds: 0, waitedSeconds: 0, restored: null, peakBytes: 0 };
  const outcome: Outcome = { ...nothing, ...end, case: each.name, code, isAsBefore, found };
  count(outcome);
  for (const fault of found) console.log(`${each.name}: ${code}: ${fault}`);
  if (values.log) appendFileSync(values.log, `${JSON.stringify(outcome)}\n`);
  if (ended % 100 === 0) console.log(progress());
}

const progress = (): string =>
  `${ended} studies, ${unchanged} not asked for the field; ${[...counts].map(([code, count]) => `${code} ${count}`).join(', ')}; ` +
  `slowest ${worstSeconds.toFixed(1)} s (${slowest}); at most ${(peakBytes / 1e6).toFixed(0)} MB (${heaviest}); ${changed} models in another state, which the server had said they were in; ${faults.length} faults`;

const processes = Array.from({ length: Math.ceil(Number(values.at) / STUDIES_AT_ONCE) }, () => new Studies());
const [studies] = processes as [Studies];
const queue = [...cases];
const lane = async (number: number): Promise<void> => {
  for (let each = queue.shift(); each; each = queue.shift())
    await play(each, processes[number % processes.length] as Studies, false);
};
await Promise.all(Array.from({ length: Number(values.at) }, (_, number) => lane(number)));
for (const each of again) {
  await studies.restart();
  await play(each, studies, true);
}
isOver = true;
for (const each of processes) each.close();
await rm(folder, { recursive: true, force: true });
console.log(`${progress()}; ${alone} again, alone`);
process.exitCode = faults.length === 0 ? 0 : 1;
