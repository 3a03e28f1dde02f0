import { TrituneError } from '#base/errors.ts';
import { NS_PER_S } from '#base/units.ts';
import type { SendTally } from '#loadgen/open-loop.ts';
import type { AtRest } from '../foreign-traffic.ts';
import { defaultWindowRule, type LevelOptions } from '../level-options.ts';
import type { Measurement } from '../measurement.ts';
import { composingSide, readStatistics, type StatisticsReading, serverSide } from '../server-side.ts';
import { MeasuredTraffic } from '../traffic.ts';
import { startWarm, warmApart, warmUp } from '../warm-up.ts';
import type { OnWindow, WindowsOutcome } from '../windows/outcome.ts';
import { measureWindows } from '../windows/windows.ts';
import type { Gate } from './gate.ts';
import { type OwnFigures, ownFigures, pacedFigures } from './own-figures.ts';

/** First answers that take longer are part of the figures. */
const LONG_WAKING_MS = 3_000;

/** The gates that fronts pass together when they are measured together. */
export interface Gates {
  /** The server's statistics have been read, and nothing has been sent. */
  readonly atRest: Gate;
  /** Nothing is in flight, and each front begins to send. */
  readonly woken: Gate;
  /** Each front is warm on its own. */
  readonly started: Gate;
  /** All fronts are warm together; counting begins. */
  readonly warm: Gate;
  /** Counting is over, but requests continue. */
  readonly counted: Gate;
  /** Nothing is in flight. */
  readonly drained: Gate;
}

/** The figures of one front, without the devices, the host and the client. */
export interface FrontResult {
  readonly options: LevelOptions;
  readonly figures: WindowsOutcome;
  readonly frontFigures: OwnFigures & Pick<Measurement, 'server' | 'serverNote' | 'composing' | 'firstAnswersMs'>;
  readonly atRest: readonly AtRest[];
  /**
   * Outcome of all sends from when all fronts were warm until this one had finished counting; null
   * in a closed loop.
   */
  readonly tally: SendTally | null;
  /**
   * Requests sent while the client was watched: from when all fronts were warm until all had
   * finished counting.
   */
  readonly sent: number;
}

/**
 * Measures what the clients of one front see at its level: warms up, counts windows until the
 * figures are trustworthy, and reads the server's statistics over the same time. Waits for the
 * other fronts at the gates. Afterwards nothing is in flight except requests that did not end
 * within `drainMs`. Errors: SERVER_UNREACHABLE, INTERRUPTED, CLIENT_FAILED.
 */
export async function measureFront(options: LevelOptions, gates: Gates, onWindow: OnWindow): Promise<FrontResult> {
  const rule = { ...defaultWindowRule, ...options.windows };
  const traffic = new MeasuredTraffic(options, mostRequests(options));
  try {
    const before = await readAtRest(options);
    await gates.atRest.pass(options.signal);
    const apart = await warmApart(options, rule, before.frontFigures);
    // Plans that play together begin together.
    await gates.woken.pass(options.signal);
    const { sentApart, ...alone } = await startWarm(traffic, options, rule, apart);
    await gates.started.passWith(traffic);
    const warmth = gates.started.isShared ? await warmUp(traffic, options, rule) : alone;
    await gates.warm.passWith(traffic);

    await traffic.takeTally();
    const sentBefore = traffic.sent;
    const startNs = options.clock.nowNs();
    const figures = await measureWindows(traffic, options, rule, warmth, onWindow);
    const tally = await traffic.takeTally();
    const paced = pacedFigures(tally, figures, (options.clock.nowNs() - startNs) / NS_PER_S, traffic.startNs);
    await gates.counted.passWith(traffic);
    const sent = traffic.sent - sentBefore;
    const [atStart, atEnd] = await Promise.all([figures.start.reading, figures.end.reading]);
    const composing = composingSide(await figures.start.composing, await figures.end.composing, figures.countedShare);
    await traffic.confirmReachable();

    await traffic.drain();
    await gates.drained.pass(options.signal);
    const after = await readAtRest(options);
    const { mostInFlight } = traffic;
    const rate = { requests: options.requests, mostInFlight, countedShare: figures.countedShare };
    const server = serverSide(atStart, atEnd, figures.succeeded, rate);
    checkSameServer(figures, server, mostInFlight);
    const measured = ownFigures(options, figures, { paced, tally });
    // The limit may be reached before anything counts.
    const failures = measured.failures.length > 0 ? measured.failures : traffic.failures;
    return {
      options,
      figures,
      frontFigures: {
        ...measured,
        ...(apart.wakingMs > LONG_WAKING_MS && { firstAnswersMs: apart.wakingMs }),
        ...(traffic.tooManyErrors && { tooManyErrors: true, failures }),
        ...server,
        ...(composing.length > 0 && { composing }),
      },
      tally,
      sent,
      atRest: listAtRest(options, before, after, { sent: sentApart + traffic.sent, mostInFlight }),
    };
  } finally {
    await traffic.drain();
  }
}

const mostRequests = ({ stability }: LevelOptions): number =>
  stability?.kind === 'request-count' ? stability.requests : Number.POSITIVE_INFINITY;

/** Statistics of the model, and of the models behind it whose number of requests is known. */
interface RestReadings {
  readonly frontFigures: StatisticsReading;
  readonly composing: readonly { readonly model: string; readonly reading: StatisticsReading }[];
}

async function readAtRest(options: LevelOptions): Promise<RestReadings> {
  const certain = (options.composing ?? []).filter((model) => options.timesPerRequest?.get(model) != null);
  const [reading, ...others] = await Promise.all([
    readStatistics(options),
    ...certain.map((model) => readStatistics(options, model)),
  ]);
  return {
    frontFigures: reading,
    composing: certain.map((model, index) => ({ model, reading: others[index] as StatisticsReading })),
  };
}

function listAtRest(
  { requests, timesPerRequest = new Map() }: LevelOptions,
  before: RestReadings,
  after: RestReadings,
  { sent, mostInFlight }: { readonly sent: number; readonly mostInFlight: number },
): readonly AtRest[] {
  const { model, version, isRescheduled } = requests;
  const ours = isRescheduled ? null : sent;
  const none: StatisticsReading = { unread: null };
  const reading = ({ composing }: RestReadings, of: string): StatisticsReading =>
    composing.find((each) => each.model === of)?.reading ?? none;
  const behind = [...timesPerRequest].filter(([name]) => name !== model);
  return [
    { model, version, before: before.frontFigures, after: after.frontFigures, ours, mostInFlight },
    ...behind.map(([name, times]) => ({
      model: name,
      version: '',
      before: reading(before, name),
      after: reading(after, name),
      ...(times === null ? { ours: null, mostInFlight } : { ours: sent * times, mostInFlight: mostInFlight * times }),
    })),
  ];
}

/** A server that ran the whole time has counted more than this share of the answered requests. */
const MIN_COUNTED = 0.99;

/**
 * Errors: SERVER_UNREACHABLE if nothing listened for a while and the statistics are not from one
 * server that ran the whole time. The measurement then mixes two servers and the gap between them.
 */
function checkSameServer(
  { failures, succeeded }: Pick<WindowsOutcome, 'failures' | 'succeeded'>,
  { server, serverNote }: Pick<Measurement, 'server' | 'serverNote'>,
  mostInFlight: number,
): void {
  const refused = failures.find(({ kind }) => kind === 'refused');
  if (!refused || (server && server.successCount >= MIN_COUNTED * succeeded - 2 * mostInFlight)) return;
  throw new TrituneError(
    'SERVER_UNREACHABLE',
    `the server could not be reached for a while: ${refused.firstMessage}${serverNote === undefined ? '' : `; ${serverNote}`}`,
    'read its log to see why it ended, and measure again',
  );
}
