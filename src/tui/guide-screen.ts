import { Box, useApp, useInput, useWindowSize } from 'ink';
import { createElement, type ReactElement, useSyncExternalStore } from 'react';
import { formatMessage } from '#base/errors.ts';
import { drawnRow } from './drawn-row.ts';
import { openFullScreen } from './full-screen.ts';
import {
  advance,
  type Guide,
  type GuideEvent,
  initialGuide,
  listArguments,
  type ModelChoice,
  type ServerChoice,
} from './guide.ts';
import { guideRows, mostMoved } from './guide-rows.ts';
import { splitPresses } from './keys.ts';
import { block } from './rows.ts';

/** The guided start's access to the outside. It shows errors and asks the previous step again. */
export interface GuideReach {
  servers(): Promise<readonly ServerChoice[]>;
  models(server: ServerChoice): Promise<readonly ModelChoice[]>;
  /** Returns the plan of a run with these arguments, in lines. */
  plan(argv: readonly string[]): Promise<readonly string[]>;
}

export interface GuideOptions extends GuideReach {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
}

const PAGE = 10;

/**
 * Asks for server, model and budget, and shows the plan. Resolves to the arguments of the run, or
 * null if the person left.
 */
export async function askForRun(options: GuideOptions): Promise<readonly string[] | null> {
  const { stdin, stdout } = options;
  let chosen: readonly string[] | null = null;
  const onStart = (argv: readonly string[]): void => {
    chosen = argv;
  };
  const screen = createElement(GuideScreen, { talk: new Talk(options), hasColours: options.hasColours, onStart });
  const instance = openFullScreen(screen, stdin, stdout, { exitOnCtrlC: true });
  await instance.waitUntilExit();
  return chosen;
}

/** Runs the guide: takes events, and fetches what it waits for. */
class Talk {
  readonly #reach: GuideReach;
  #guide = initialGuide;
  #listener: () => void = () => undefined;

  constructor(reach: GuideReach) {
    this.#reach = reach;
    this.#fetch();
  }

  readonly guide = (): Guide => this.#guide;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listener = listener;
    return () => {
      this.#listener = () => undefined;
    };
  };

  take(event: GuideEvent): void {
    const before = this.#guide;
    this.#guide = advance(before, event);
    if (this.#guide.waiting !== null && this.#guide.waiting !== before.waiting) this.#fetch();
    this.#listener();
  }

  /** Ignores what arrives after the person went back. */
  #fetch(): void {
    const { step, waiting } = this.#guide;
    const settle = (event: GuideEvent): void => {
      if (this.#guide.step === step && this.#guide.waiting === waiting) this.take(event);
    };
    fetchFor(this.#guide, this.#reach).then(settle, (error: unknown) =>
      settle({ type: 'failed', reason: formatMessage(error) }),
    );
  }
}

interface GuideProps {
  readonly talk: Talk;
  readonly hasColours: boolean;
  readonly onStart: (argv: readonly string[]) => void;
}

function GuideScreen({ talk, hasColours, onStart }: GuideProps): ReactElement {
  const guide = useSyncExternalStore(talk.subscribe, talk.guide);
  const size = useWindowSize();
  const { exit } = useApp();
  const { step, waiting } = guide;
  useInput((input, pressed) => {
    for (const press of splitPresses(input, pressed)) {
      const { key } = press;
      const most = mostMoved(guide, size);
      if (key.escape && step === 'server') exit();
      else if (key.escape) talk.take({ type: 'back' });
      else if (key.upArrow || key.downArrow) talk.take({ type: 'move', by: key.upArrow ? -1 : 1, most });
      else if (key.pageUp || key.pageDown) talk.take({ type: 'move', by: key.pageUp ? -PAGE : PAGE, most });
      else if (key.backspace || key.delete) talk.take({ type: 'erase' });
      else if (key.return && step === 'plan' && waiting === null) {
        onStart(listArguments(guide));
        exit();
      } else if (key.return) talk.take({ type: 'enter' });
      else if (/^[\w.:/-]$/.test(press.input) && !key.ctrl && !key.meta)
        talk.take({ type: 'typed', text: press.input });
    }
  });
  const lines = block(guideRows(guide, size), size).map((line, index) => drawnRow(line, hasColours, index));
  return createElement(Box, { flexDirection: 'column', width: size.columns, height: size.rows }, ...lines);
}

async function fetchFor(guide: Guide, reach: GuideReach): Promise<GuideEvent> {
  if (guide.step === 'server') return { type: 'servers', servers: await reach.servers() };
  if (guide.step === 'model' && guide.server) return { type: 'models', models: await reach.models(guide.server) };
  return { type: 'plan', lines: await reach.plan(listArguments(guide)) };
}
