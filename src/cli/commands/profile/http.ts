import { writeFile } from 'node:fs/promises';
import { readTls } from '../../../app/server/read-tls.ts';
import { wantsTls, warnIfInsecure } from '../../../app/server/tls.ts';
import { openAlarm } from '../../../base/alarm.ts';
import { realClock } from '../../../base/clock.ts';
import { messageOf, TrituneError } from '../../../base/errors.ts';
import { inertJson } from '../../../base/format.ts';
import { secretsOut } from '../../../base/secrets.ts';
import { MS_PER_S, nsToMs } from '../../../base/units.ts';
import { type HttpSummary, heyLines, summaryOf } from '../../../headless/hey-summary.ts';
import { type ClientUse, watchClient } from '../../../loadgen/client/cost.ts';
import { poissonArrivals } from '../../../loadgen/pacing/pacers.ts';
import { measurePlainHttp, type PlainHttpFigures, type PlainHttpLoad } from '../../../loadgen/plain-http/run.ts';
import { type PlainHttpUrl, plainHttpUrl } from '../../../loadgen/plain-http/url.ts';
import { addressOf } from '../../../loadgen/transports/address.ts';
import type { RequestHeader } from '../../../loadgen/types.ts';
import { clientLimit } from '../../../profiler/client-verdict.ts';
import type { HeaderSpec, TlsSpec } from '../../../spec/server-spec.ts';
import { diagnoseTls, type TlsOptions } from '../../../triton/wire/tls.ts';
import { exitCodes } from '../../exit-codes.ts';
import { listenForInterrupts } from '../../interrupts.ts';
import type { Terminal } from '../../terminal.ts';
import { type PlainHttpFlags, plainContent, refuseOthers } from './http-options.ts';

/** One load level, in the form of a range of them. */
interface LevelRange {
  readonly start: number;
  readonly end: number;
}

/** The options of `profile` that plain HTTP takes; the others do not matter to it. */
export interface PlainHttpOptions extends PlainHttpFlags, TlsSpec, HeaderSpec {
  readonly url?: string;
  readonly concurrencyRange?: LevelRange;
  readonly requestRateRange?: LevelRange;
  readonly requestDistribution?: string;
  readonly seed?: number;
  /** 0 is none. */
  readonly requestCount?: number;
  /** How long to send, in milliseconds. */
  readonly measurementInterval?: number;
  /** In seconds. */
  readonly requestTimeout: number;
  /** A file for the summary. */
  readonly json?: string;
}

const DEFAULT_DURATION_MS = 5000;

/**
 * Sends one request over and over to any URL and prints what came back, as `hey` does. Gives the exit code. Errors: USAGE,
 * INPUT_INVALID, OUTPUT_UNWRITABLE; SERVER_UNREACHABLE, SERVER_TIMEOUT or SERVER_FAILED when no reply ever came, and
 * SERVER_UNREACHABLE when the server went away, after what came until then was printed.
 */
export async function runPlainHttp(options: PlainHttpOptions, terminal: Terminal): Promise<number> {
  refuseOthers(options);
  const { url, tls } = await placeOf(options);
  const { host = url.host, ...content } = await plainContent(options, url.credentials);
  const load = loadOf(options);
  const target = {
    address: url.address,
    tls,
    timeoutMs: options.requestTimeout * MS_PER_S,
    keepsAlive: !options.disableKeepalive,
  };
  warnIfInsecure(options, terminal);
  const alarm = openAlarm();
  const client = watchClient();
  const { signal, check, release } = listenForInterrupts(
    (line) => terminal.tell(line),
    () => 'ended at once, with nothing left behind',
    'no more requests are sent',
  );
  try {
    const time = { clock: realClock, alarm, signal };
    const figures = cleared(
      await measurePlainHttp(target, { ...content, host, target: url.target }, load, time),
      content.headers,
    );
    const use = await client.read();
    await throwIfSilent(figures, target, options.url ?? '');
    const summary = summaryOf(figures, load.perSecond);
    await write(summary, options, terminal);
    tellLimit(figures, use, terminal);
    check();
    return exitCodeOf(figures);
  } finally {
    release();
    client.stop();
    await alarm.close();
  }
}

/** Without the values of headers where a server repeats them. */
function cleared(figures: PlainHttpFigures, headers: readonly RequestHeader[]): PlainHttpFigures {
  const clear = secretsOut(headers);
  const failures = figures.failures.map((each) => ({ ...each, firstMessage: clear(each.firstMessage) }));
  return { ...figures, failures };
}

async function placeOf(options: PlainHttpOptions): Promise<{ url: PlainHttpUrl; tls: TlsOptions | undefined }> {
  if (options.url === undefined) {
    throw usage('plain HTTP needs an address', 'give it with -u, for example -u http://localhost:8000/inference');
  }
  const url = plainHttpUrl(options.url, wantsTls(options));
  if (url.isSecure === false && wantsTls(options)) {
    throw usage('http:// is an address without TLS', 'write https://, or leave out the options about TLS');
  }
  const isSecure = url.isSecure ?? wantsTls(options);
  return { url, tls: isSecure ? await readTls(options) : undefined };
}

function loadOf(options: PlainHttpOptions): PlainHttpLoad {
  const { requestCount, measurementInterval, requestDistribution, seed = 1 } = options;
  const requests = requestCount === 0 ? undefined : requestCount;
  return {
    concurrency: oneOf(options.concurrencyRange, '--concurrency-range'),
    perSecond: oneOf(options.requestRateRange, '--request-rate-range'),
    ...(requestDistribution === 'poisson' && { pacerAt: (perSecond) => poissonArrivals(perSecond, seed) }),
    requests,
    durationMs: measurementInterval ?? (requests === undefined ? DEFAULT_DURATION_MS : undefined),
  };
}

function oneOf(range: LevelRange | undefined, option: string): number | undefined {
  if (range === undefined || range.start === range.end) return range?.start;
  throw usage(`plain HTTP is sent at one level, and ${option} has several`, `write ${option} ${range.start}`);
}

/** Figures without a single reply say nothing but that. */
async function throwIfSilent(
  { latencies, failures: [first], ended }: PlainHttpFigures,
  { address, tls }: { readonly address: string; readonly tls: TlsOptions | undefined },
  url: string,
): Promise<void> {
  if (latencies.count > 0 || ended === 'interrupted') return;
  const hint = 'see whether the server runs, and what it logs';
  if (first === undefined) throw new TrituneError('SERVER_TIMEOUT', `nothing was sent to ${withoutLogin(url)}`, hint);
  const words = `no reply came from ${withoutLogin(url)}`;
  if (first.kind === 'timeout') throw new TrituneError('SERVER_TIMEOUT', `${words}: ${first.firstMessage}`, hint);
  const code = first.kind === 'malformed' ? 'SERVER_FAILED' : 'SERVER_UNREACHABLE';
  const trouble = await diagnoseTls(addressOf(address), tls);
  throw new TrituneError(code, `${words}: ${trouble?.message ?? first.firstMessage}`, trouble?.hint ?? hint);
}

const withoutLogin = (url: string): string => url.replace(/^([^/]*:\/\/)?[^/]*@/, '$1');

async function write(summary: HttpSummary, options: PlainHttpOptions, terminal: Terminal): Promise<void> {
  const json = JSON.stringify(summary, null, 2);
  if (options.outputFormat === 'json') terminal.print(inertJson(json));
  else for (const line of heyLines(summary)) terminal.print(line);
  if (options.json === undefined) return;
  await writeFile(options.json, `${json}\n`).catch((error: unknown) => {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write: ${messageOf(error)}`, 'choose another file with --json');
  });
}

/** The figures of a client that had no more to give are its own, not the server's. */
function tellLimit(figures: PlainHttpFigures, use: ClientUse, terminal: Terminal): void {
  const { latencies, fromSending, sends, totalNs } = figures;
  const limit = clientLimit(
    {
      use,
      tail: null,
      requestRate: latencies.count / (totalNs / 1e9),
      latencyP50Ms: nsToMs(fromSending.quantileNs(0.5)),
      sends: sends && {
        latenessP50Ms: nsToMs(sends.lateness.quantileNs(0.5)),
        percentile: 99,
        fromDueMs: nsToMs(latencies.quantileNs(0.99)),
        fromSendMs: nsToMs(fromSending.quantileNs(0.99)),
        budgetMs: Number.POSITIVE_INFINITY,
      },
    },
    null,
  );
  if (limit !== null) terminal.tell(`the load generator was the limit, the server may be faster: ${limit}`);
}

function exitCodeOf({ ended, failures }: PlainHttpFigures): number {
  if (ended === 'interrupted') return exitCodes.interrupted;
  if (ended === 'done') return exitCodes.done;
  const last = failures.at(-1)?.firstMessage ?? 'no connection';
  throw new TrituneError('SERVER_UNREACHABLE', `the server went away: ${last}`, 'see its log');
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
