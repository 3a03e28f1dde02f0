import { realClock } from '#base/clock.ts';
import { isTrituneError } from '#base/errors.ts';
import { nsToMs } from '#base/units.ts';
import type { InferRequest, SendOutcome } from '#loadgen/types.ts';
import type { TritonClient } from '#triton/types.ts';
import type { OpenServer } from '../../server/open-server.ts';
import { sendOne } from '../../traffic/first-requests.ts';
import { openLocalTraffic, type TrafficOrder } from '../../traffic/open-traffic.ts';
import type { Rates } from './direct-calls.ts';

/**
 * Requests in the two rounds. Steady traffic from elsewhere does not follow this proportion,
 * because nothing is sent between the rounds.
 */
const ROUNDS = [2, 3] as const;
/** The number of requests sent for an answer. */
export const REQUESTS_SENT = ROUNDS[0] + ROUNDS[1];
/** A first request may have effects that later ones do not. */
const ATTEMPTS = 2;
/** One request in flight, so that each request is one execution. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;
const MIN_QUIET_MS = 100;
const MAX_QUIET_MS = 1_000;
/**
 * Counts follow an answer almost at once. If another client keeps them changing, they are used as
 * they are.
 */
const POLL_MS = 20;
const OTHER_TIMEOUT_MS = 1_000;
const MAX_POLLS = 25;

/** The effects of a few requests to a model on other models. */
export interface CallEffects {
  /** Requests that each other model got per request, directly or through models in between. */
  readonly rates: Rates;
  /**
   * Models that got requests in another proportion, for example because another client sent some
   * too.
   */
  readonly unclear: readonly string[];
}

type Counts = ReadonlyMap<string, number>;

/**
 * Sends a model a few requests, and reads from the statistics of `others` which of them got
 * requests as a result. Returns that, or why the model did not answer. Errors: as
 * `openLocalTraffic`.
 */
export async function askModel(
  opened: OpenServer,
  requestedTraffic: Pick<TrafficOrder, 'spec' | 'config' | 'inputs' | 'timeoutMs'>,
  others: readonly string[],
): Promise<CallEffects | { readonly refusal: string }> {
  const { config } = requestedTraffic;
  const name = config.name ?? '';
  const traffic = await openLocalTraffic(opened, { ...requestedTraffic, levels: alone, check: null });
  try {
    const [request] = traffic.requestsFor(config).requests;
    const send = (): Promise<SendOutcome> =>
      sendOne(traffic.transport, traffic.transport.prepare(request as InferRequest));
    const names = new Set([name, ...others]);
    for (let attempt = 1; ; attempt++) {
      const counts = await countsOfRounds(opened.client, send, names);
      if ('refusal' in counts) return counts;
      const answer = judge([...names], counts);
      if (answer.unclear.length === 0 || attempt === ATTEMPTS) return answer;
    }
  } finally {
    await traffic.close();
  }
}

/** Returns the counts before, after the first round, after a pause and after the second round. */
async function countsOfRounds(
  client: TritonClient,
  send: () => Promise<SendOutcome>,
  names: Set<string>,
): Promise<readonly Counts[] | { readonly refusal: string }> {
  const counts = [await readCounts(client, names)];
  const startNs = realClock.nowNs();
  for (const [round, requests] of ROUNDS.entries()) {
    for (let sent = 0; sent < requests; sent++) {
      const outcome = await send();
      if (!outcome.ok) return { refusal: outcome.message };
    }
    const [caller = ''] = names;
    counts.push(await settledCounts(client, names, (counts.at(-1)?.get(caller) ?? 0) + requests));
    if (round > 0) continue;
    // The pause is as long as the second, longer round.
    const quietMs = (nsToMs(realClock.nowNs() - startNs) * ROUNDS[1]) / ROUNDS[0];
    await realClock.sleep(Math.min(MAX_QUIET_MS, Math.max(MIN_QUIET_MS, quietMs)));
    counts.push(await readCounts(client, names));
  }
  return counts;
}

/** The first of `names` is the model that was asked. `counts`: as returned by `countsOfRounds`. */
function judge([caller = '', ...others]: readonly string[], counts: readonly Counts[]): CallEffects {
  const countRises = (name: string): readonly [number, number, number] => {
    const [before = 0, first = 0, pause = 0, second = 0] = counts.map((each) => each.get(name) ?? 0);
    return [first - before, pause - first, second - pause];
  };
  const [ownFirst, ownPause, ownSecond] = countRises(caller);
  const isAlone = ownFirst === ROUNDS[0] && ownPause === 0 && ownSecond === ROUNDS[1];
  const rates = new Map<string, number>();
  const unclear: string[] = [];
  for (const name of others) {
    const [first, pause, second] = countRises(name);
    const rate = first / ROUNDS[0];
    const isProportional = Number.isInteger(rate) && rate > 0 && second === rate * ROUNDS[1] && pause === 0;
    if (isAlone && isProportional) rates.set(name, rate);
    else if (first !== 0 || pause !== 0 || second !== 0) unclear.push(name);
  }
  return { rates, unclear };
}

/**
 * Returns the number of requests that each model has answered; 0 for a model that is gone, or if
 * the server reports nothing. Another model whose figures do not come leaves the set, so that
 * nobody waits for it again.
 */
async function readCounts(client: TritonClient, names: Set<string>): Promise<Counts> {
  const [caller] = names;
  const counts = [...names].map(async (name) => {
    const versions = await client
      .statistics(name, name === caller ? {} : { timeoutMs: OTHER_TIMEOUT_MS })
      .catch((error: unknown) => {
        if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY', 'SERVER_FAILED', 'UNSUPPORTED')) return [];
        if (name === caller || !isTrituneError(error, 'SERVER_TIMEOUT', 'SERVER_UNREACHABLE')) throw error;
        names.delete(name);
        return [];
      });
    return [name, versions.reduce((sum, { success }) => sum + success.count, 0)] as const;
  });
  return new Map(await Promise.all(counts));
}

/**
 * Returns the counts once the first model's is at least `requests` and nothing has changed since
 * the last look.
 */
async function settledCounts(client: TritonClient, names: Set<string>, requests: number): Promise<Counts> {
  const [caller = ''] = names;
  let last = await readCounts(client, names);
  for (let poll = 0; poll < MAX_POLLS; poll++) {
    await realClock.sleep(POLL_MS);
    const now = await readCounts(client, names);
    const stands = [...names].every((name) => now.get(name) === last.get(name));
    if (stands && (now.get(caller) ?? 0) >= requests) return now;
    last = now;
  }
  return last;
}
