import { TrituneError } from '../../base/errors.ts';
import { NS_PER_S } from '../../base/units.ts';
import type { SendTally } from '../../loadgen/pacing/open-loop.ts';
import type { AtRest } from '../foreign-traffic.ts';
import { defaultWindowRule, type LevelOptions } from '../level-options.ts';
import type { Measurement } from '../measurement.ts';
import { composingSide, type Reading, readStatistics, serverSide } from '../server-side.ts';
import { Traffic } from '../traffic.ts';
import { startWarm, warmApart, warmUp } from '../warm-up.ts';
import type { OnWindow, WindowsOutcome } from '../windows/outcome.ts';
import { measureWindows } from '../windows/windows.ts';
import type { Gate } from './gate.ts';
import { type OwnFigures, ownFigures, pacedFigures } from './own-figures.ts';

/** The points that fronts which are measured together pass together. */
export interface Gates {
  /** The server's statistics are read, and nothing has been sent. */
  readonly atRest: Gate;
  /** Nothing is in flight, and each begins to send. */
  readonly woken: Gate;
  /** Each is warm by itself. */
  readonly started: Gate;
  /** All are warm together: counting begins. */
  readonly warm: Gate;
  /** Counting is over, and requests still go on. */
  readonly counted: Gate;
  /** Nothing is in flight. */
  readonly drained: Gate;
}

/** The figures of one front, but for what is watched beside the traffic. */
export interface FrontResult {
  readonly options: LevelOptions;
  readonly figures: WindowsOutcome;
  readonly own: OwnFigures & Pick<Measurement, 'server' | 'serverNote' | 'composing'>;
  readonly atRest: readonly AtRest[];
  /** What became of the sends of each agent, by its address; absent where none sent by a schedule. */
  readonly sendsByAgent?: SendTally['byAgent'];
}

/**
 * Measures what one front's clients see at its level: warms up, counts windows until the figures are trustworthy, and reads the server's
 * statistics over the same time. Between the gates it waits for the other fronts. Nothing is in flight afterwards, or only what did not end
 * within `drainMs`. Errors: SERVER_UNREACHABLE, INTERRUPTED, CLIENT_FAILED.
 */
export async function measureFront(options: LevelOptions, gates: Gates, onWindow: OnWindow): Promise<FrontResult> {
  const rule = { ...defaultWindowRule, ...options.windows };
  const traffic = new Traffic(options, mostRequests(options));
  try {
    const before = await readAtRest(options);
    await gates.atRest.pass(options.signal);
    const apart = await warmApart(options, rule);
    // Plans that are played together begin together.
    await gates.woken.pass(options.signal);
    const { sentApart, ...alone } = await startWarm(traffic, options, rule, apart);
    await gates.started.passWith(traffic);
    const warmth = gates.started.isShared ? await warmUp(traffic, options, rule) : alone;
    await gates.warm.passWith(traffic);

    await traffic.takeTally();
    const startNs = options.clock.nowNs();
    const figures = await measureWindows(traffic, options, rule, warmth, onWindow);
    const tally = await traffic.takeTally();
    const paced = pacedFigures(tally, figures, (options.clock.nowNs() - startNs) / NS_PER_S);
    const failures = traffic.failures;
    await gates.counted.passWith(traffic);
    const [atStart, atEnd] = await Promise.all([figures.start.reading, figures.end.reading]);
    const composing = composingSide(await figures.start.composing, await figures.end.composing, figures.countedShare);
    await traffic.confirmReachable();

    await traffic.drain();
    await gates.drained.pass(options.signal);
    const after = await readAtRest(options);
    const { mostInFlight } = traffic;
    const asked = { requests: options.requests, mostInFlight, countedShare: figures.countedShare };
    const server = serverSide(atStart, atEnd, figures.succeeded, asked);
    if (options.stats) checkSameServer(failures, server, figures.succeeded, mostInFlight);
    return {
      options,
      figures,
      own: {
        ...ownFigures(options, figures, { paced, tally, failures }),
        ...(traffic.tooManyErrors && { tooManyErrors: true }),
        ...server,
        ...(composing.length > 0 && { composing }),
      },
      ...(tally?.byAgent && { sendsByAgent: tally.byAgent }),
      atRest: atRestOf(options, before, after, { sent: sentApart + traffic.sent, mostInFlight }),
    };
  } finally {
    await traffic.drain();
  }
}

const mostRequests = ({ stability }: LevelOptions): number =>
  stability?.kind === 'request-count' ? stability.requests : Number.POSITIVE_INFINITY;

/** Statistics of the model, and of those among the models behind it whose requests are known. */
interface RestReadings {
  readonly own: Reading;
  readonly composing: readonly { readonly model: string; readonly reading: Reading }[];
}

async function readAtRest(options: LevelOptions): Promise<RestReadings> {
  const certain = (options.composing ?? []).filter((model) => options.timesPerRequest?.get(model) != null);
  const [own, ...others] = await Promise.all([
    readStatistics(options),
    ...certain.map((model) => readStatistics(options, model)),
  ]);
  return {
    own,
    composing: certain.map((model, index) => ({ model, reading: others[index] as Reading })),
  };
}

function atRestOf(
  { requests, timesPerRequest = new Map() }: LevelOptions,
  before: RestReadings,
  after: RestReadings,
  { sent, mostInFlight }: { readonly sent: number; readonly mostInFlight: number },
): readonly AtRest[] {
  const { model, version } = requests;
  const none: Reading = { unread: null };
  const reading = ({ composing }: RestReadings, of: string): Reading =>
    composing.find((each) => each.model === of)?.reading ?? none;
  const behind = [...timesPerRequest].filter(([name]) => name !== model);
  return [
    { model, version, before: before.own, after: after.own, ours: sent, mostInFlight },
    ...behind.map(([name, times]) => ({
      ...{ model: name, version: '', before: reading(before, name), after: reading(after, name) },
      ...(times === null ? { ours: null, mostInFlight } : { ours: sent * times, mostInFlight: mostInFlight * times }),
    })),
  ];
}

/** A server that served all along has counted more than this share of the answered requests. */
const LEAST_COUNTED = 0.99;

/**
 * Errors: SERVER_UNREACHABLE when nothing listened for a while and the statistics are not those of one server that served
 * all along: what was measured then is two servers and the time between them.
 */
function checkSameServer(
  failures: Measurement['failures'],
  { server, serverNote }: Pick<Measurement, 'server' | 'serverNote'>,
  succeeded: number,
  mostInFlight: number,
): void {
  const refused = failures.find(({ kind }) => kind === 'refused');
  if (!refused || (server && server.successCount >= LEAST_COUNTED * succeeded - 2 * mostInFlight)) return;
  throw new TrituneError(
    'SERVER_UNREACHABLE',
    `the server could not be reached for a while: ${refused.firstMessage}${serverNote === undefined ? '' : `; ${serverNote}`}`,
    'read its log to see why it ended, and measure again',
  );
}
