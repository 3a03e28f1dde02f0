import { openProfileDocuments } from '../../../app/profile/documents.ts';
import { profileHead } from '../../../app/profile/head.ts';
import { type HttpRequestTo, openHttpTarget } from '../../../app/profile/http-target.ts';
import { planProfile } from '../../../app/profile/plan.ts';
import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import { readTls } from '../../../app/server/read-tls.ts';
import { wantsTls, warnIfInsecure } from '../../../app/server/tls.ts';
import { contentOf } from '../../../app/traffic/http/content-of-kind.ts';
import { TrituneError } from '../../../base/errors.ts';
import { inertJson } from '../../../base/format.ts';
import { secretsInUrl, shownUrl } from '../../../base/secrets.ts';
import { plainHttpUrl } from '../../../loadgen/plain-http/url.ts';
import type { DeviceMetrics } from '../../../profiler/measurement.ts';
import { sweep } from '../../../profiler/sweep.ts';
import { profileJson } from '../../../report/profile-json.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import type { Terminal } from '../../terminal.ts';
import type { PlainHttpFlags } from './http-options.ts';
import { measureLevels } from './levels.ts';
import { loadOf } from './load.ts';
import type { ProfileOptions } from './options.ts';
import { withoutAliases } from './perf-analyzer-aliases.ts';
import { exitCodeOf, interruptible } from './run.ts';

/** The options of `profile` with those of plain HTTP. */
export type PlainHttpOptions = ProfileOptions & PlainHttpFlags & EndpointSpec & PromptSpec;

/**
 * Sends one request repeatedly to any URL, level after level as for a model, and prints the results, also in the form of `hey`. Returns the exit
 * code. Errors: USAGE, INPUT_INVALID, OUTPUT_*; SERVER_UNREACHABLE, SERVER_TIMEOUT or SERVER_FAILED if no reply ever came, or if the server went
 * away.
 */
export async function runPlainHttp(given: PlainHttpOptions, terminal: Terminal): Promise<number> {
  const { options, maxInFlight } = loadOf({ ...given, ...withoutAliases(given) });
  if (options.protocol !== 'http') throw usage('--service-kind http always uses HTTP/1.1', 'leave out -i');
  const plan = await planProfile(options, false);
  const to = await requestTo(options, maxInFlight);
  warnIfInsecure(options, terminal);
  const server = { name: 'http', version: '', url: to.url, emulated: null };
  const head = profileHead(options, plan, server, options.model ?? to.url, shownCommandLine(options));
  const isJson = options.outputFormat === 'json';
  const shown = isJson ? { ...terminal, print: () => undefined } : terminal;
  const outcome = await interruptible(terminal, async (signal, reports) => {
    const documents = await openProfileDocuments(options, plan, head);
    try {
      const target = await openHttpTarget(to, options, plan, signal);
      const run = { options, plan, alike: false, documents, terminal: shown, reports };
      await measureLevels(run, target, (measure) => sweep(plan.sweep, measure));
    } finally {
      await documents.close();
    }
  });
  if (options.collectMetrics && !outcome.reports.some(({ measurement }) => hasFigures(measurement.device))) {
    terminal.tell('no GPU or CPU metrics found with nvidia-smi; give their address with --metrics-url');
  }
  if (isJson) terminal.print(inertJson(JSON.stringify(profileJson(head, outcome.reports), null, 2)));
  return exitCodeOf(outcome);
}

const hasFigures = (device: DeviceMetrics): boolean => Object.keys(device).length > 0;

export async function requestTo(options: PlainHttpOptions, maxInFlight: number | undefined): Promise<HttpRequestTo> {
  if (options.url === undefined) {
    throw usage('the URL is missing', 'add it, for example -u http://localhost:8000/inference');
  }
  const url = plainHttpUrl(options.url, wantsTls(options));
  if (url.isSecure === false && wantsTls(options)) {
    throw usage('http:// excludes TLS, but there are TLS options', 'write https://, or leave out the TLS options');
  }
  const isSecure = url.isSecure ?? wantsTls(options);
  const content = await contentOf(options, url.credentials);
  const { host = url.host, method, headers, body, secrets, bodies, batch, refusalsFail, notes } = content;
  // The API of an address without a path.
  const hasPath = url.target !== '/' && options.path === undefined;
  const target = hasPath ? url.target : (content.path ?? url.target);
  return {
    url: shownUrl(options.url),
    address: url.address,
    tls: isSecure ? await readTls(options) : undefined,
    request: { method, headers, body, host, target },
    bodies,
    batch,
    refusalsFail,
    notes,
    secrets: [...secrets, ...secretsInUrl(options.url).map((value) => ({ name: 'url', value }))],
    keepsAlive: !options.disableKeepalive,
    maxInFlight,
  };
}

/** Returns the command line in a form safe to store: `profileHead` removes the values of headers, and this function those of the address and a password. */
export function shownCommandLine({
  url = '',
  basicAuth,
}: Pick<PlainHttpOptions, 'url' | 'basicAuth'>): readonly string[] {
  return process.argv.slice(2).map((arg) => {
    const shown = url === '' ? arg : arg.replaceAll(url, shownUrl(url));
    return basicAuth === undefined ? shown : shown.replaceAll(basicAuth, '…');
  });
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
