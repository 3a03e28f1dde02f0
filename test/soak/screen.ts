import { realClock } from '#base/clock.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { openTui } from '#tui/open.ts';
import type { TunerCommands } from '#tuner/steering.ts';
import { midRun, recordedRun } from '../tui/recorded.ts';
import { VirtualTerminal } from '../tui/virtual-terminal.ts';

const TRIAL = 5;
const ANSWER_MS = 10_000;
const LOOK_MS = 20;

/** The screen of a search under way, with somebody at its keys, while this process measures. */
export interface WatchedScreen {
  /** What the load generator says in a measurement is shown like that of a trial. */
  onProgress(level: LoadLevel, progress: ProfileProgress): void;
  /**
   * Presses the key for help, or for the way back; resolves when that is shown. Errors: it is not
   * within seconds.
   */
  press(): Promise<void>;
  /**
   * Processor time of this thread for a frame with something new in it, in milliseconds, while
   * nothing else is under way.
   */
  frameMs(): Promise<number>;
  close(): void;
}

const nothing = (): void => undefined;
/** A run that is there to be looked at. */
const commands: TunerCommands = {
  pause: nothing,
  resume: nothing,
  skipTrial: nothing,
  stopSearch: nothing,
  changeBudget: nothing,
  narrow: nothing,
  enqueue: nothing,
  withdraw: nothing,
};

export async function openScreen(): Promise<WatchedScreen> {
  const terminal = new VirtualTerminal({ columns: 80, rows: 24 });
  const { stdin } = terminal;
  const tui = openTui({
    stdin,
    stdout: terminal.stdout,
    hasColours: true,
    earlier: [],
    commands,
    interrupt: nothing,
    exportConfig: async () => 'config.pbtxt',
  });
  for (const event of midRun(await recordedRun())) tui.onEvent(event);
  await tui.settled();
  let frames = 0;
  const showsHelp = async (): Promise<boolean> => (await terminal.lines()).some((line) => line.startsWith('─ Keys ─'));
  return {
    onProgress(level, progress) {
      tui.onEvent({ type: 'progress', trial: TRIAL, level, progress });
    },
    async press() {
      const before = await showsHelp();
      const endMs = performance.now() + ANSWER_MS;
      stdin.push('?');
      while ((await showsHelp()) === before) {
        if (performance.now() > endMs) throw new Error(`the screen did not answer a key within ${ANSWER_MS} ms`);
        await realClock.sleep(LOOK_MS);
      }
    },
    async frameMs() {
      const start = process.threadCpuUsage();
      tui.tell(`frame ${++frames}`);
      await tui.settled();
      const { user, system } = process.threadCpuUsage(start);
      terminal.written = '';
      return (user + system) / 1e3;
    },
    close: () => tui.close(),
  };
}
