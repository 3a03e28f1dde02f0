import type { HttpSpec } from '#spec/http-spec.ts';
import { clientOptionTable } from '../../options/client.ts';
import { headerOptionTable } from '../../options/headers.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { levelOptionTable } from './level-options.ts';
import { measuringOptionTable } from './measuring-options.ts';
import { outputOptionTable } from './output-options.ts';
import { perfAnalyzerOptionTable } from './perf-analyzer-options.ts';

/** The options that only plain HTTP has. */
export interface PlainHttpFlags extends HttpSpec {
  /** USER:PASSWORD; neither printed nor stored. */
  readonly basicAuth?: string;
  readonly outputFormat?: 'text' | 'json';
}

/** The options for what a study or a profile of a plain HTTP service sends. */
export const httpContentOptionTable: OptionTable<HttpSpec> = under<HttpSpec>('Plain HTTP', {
  path: { flags: '--path <path>', help: 'Path and query of the requests (default: those of the address, or /)' },
  method: { flags: '--method <method>', help: 'HTTP method (default: GET, or POST with a body)' },
  body: {
    flags: '--body <text>',
    help: 'Body of the request; JSON gets its Content-Type',
  },
  bodyFile: { flags: '--body-file <file>', help: 'File with the body of the request' },
  bodiesFile: { flags: '--bodies-file <file>', help: 'File with a body in each line, which are sent in turn' },
  disableKeepalive: { flags: '--disable-keepalive', help: 'Open a new connection for every request' },
});

export const plainHttpOptionTable: OptionTable<PlainHttpFlags> = under<PlainHttpFlags>('Plain HTTP', {
  ...httpContentOptionTable,
  basicAuth: {
    flags: '--basic-auth <user:password>',
    help: 'User and password for basic authentication',
  },
  outputFormat: {
    flags: '--output-format <format>',
    help: 'Format of the summary (default: text)',
    choices: ['text', 'json'],
  },
});

const { fixedSchedule, scenario, batchSizes, concurrencies, ...levels } = levelOptionTable;
const { profileExportFile, output, ...outputs } = outputOptionTable;

/** The options of `profile` that apply to plain HTTP. */
export const honouredByHttp: ReadonlySet<string> = new Set([
  ...[
    plainHttpOptionTable,
    levels,
    measuringOptionTable,
    outputs,
    clientOptionTable,
    tlsOptionTable,
    headerOptionTable,
  ].flatMap((table) => Object.keys(table)),
  ...['serviceKind', 'url', 'protocol', 'startConcurrency', 'endConcurrency', 'dynamicConcurrency'],
  ...Object.keys(perfAnalyzerOptionTable).filter((name) => name.startsWith('sslHttps')),
  // perf_analyzer's options about threads and waiting, which are ignored for a model too.
  ...['async', 'sync', 'maxThreads', 'metricsInterval'],
]);
