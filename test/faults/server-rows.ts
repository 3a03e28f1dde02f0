import { setTimeout as sleep } from 'node:timers/promises';
import type { Disturbance } from '#emulator/faults.ts';
import type { TuneEvent } from '#library/index.ts';
import type { Mischief } from '../support/switched-proxy.ts';
import { type Befalls, ENDS_WITHIN_MS, type Play, type Stage, USUAL } from './server-stage.ts';

/** What becomes of a candidate: its figures count, or the reason why it failed as `KIND: WORDS`. */
export type Fate = 'measured' | RegExp;

/** One run, each of whose candidates meets a fault of its own. */
export interface Row extends Omit<Play, 'ways'> {
  readonly fault: string;
  readonly exitCode: 0 | 4;
  /** By candidate, in their order. */
  readonly fates: { readonly [way: string]: Fate };
  /** What ends the run, where something does. */
  readonly error?: { readonly code: string; readonly message: RegExp };
}

const measured = (...ways: string[]): Row['fates'] => Object.fromEntries(ways.map((way) => [way, 'measured']));

const when = (way: string) => ({ 'parameters.way.string_value': way });

/**
 * At this request of a measurement its windows are being counted, and much of it is still to come.
 */
const IN_THE_MIDDLE = 120;

/**
 * By candidate: what befalls it in the middle of its measurement, and in how many of its
 * measurements.
 */
function inTheMiddle(plan: { readonly [way: string]: { readonly how: Disturbance; readonly times: number } }) {
  const left = new Map(Object.entries(plan).map(([way, { times }]) => [way, times]));
  return (request: number, way: string): Befalls | null => {
    const times = left.get(way) ?? 0;
    if (request !== IN_THE_MIDDLE || times === 0) return null;
    left.set(way, times - 1);
    return plan[way]?.how ?? null;
  };
}

const ALWAYS = Number.POSITIVE_INFINITY;
const MISCHIEF_MS = 400;

/**
 * By candidate: what the proxy does for a while, and some time after the run has come to this step
 * of its trial.
 */
function mischief(
  step: 'applying' | 'measuring',
  plan: { readonly [way: string]: Mischief },
  lastsMs = MISCHIEF_MS,
  afterMs = step === 'measuring' ? 500 : 0,
): Play['onEvent'] {
  const done = new Set<number>();
  return (event: TuneEvent, { proxy, ways }: Stage) => {
    const what = event.type === step ? plan[ways[event.trial - 1] ?? ''] : undefined;
    if (event.type !== step || what === undefined || done.has(event.trial)) return;
    done.add(event.trial);
    void (afterMs > 0 ? sleep(afterMs) : Promise.resolve())
      .then(() => proxy?.switchTo(what))
      .then(() => sleep(lastsMs, null, { ref: false }))
      .then(() => proxy?.switchTo('none'));
  };
}

/** By candidate, what befalls an eighth of its requests. */
const spoiltOverHttp: { readonly [way: string]: Befalls } = {
  close: 'close',
  halfClose: 'half-close',
  reset: 'reset',
  garbage: 'garbage',
  limited: { status: 'RESOURCE_EXHAUSTED', message: 'too many requests' },
  unavailable: { status: 'UNAVAILABLE', message: 'no healthy upstream' },
};
const spoilt = {
  http: spoiltOverHttp,
  grpc: { ...spoiltOverHttp, resetStream: 'reset-stream', goAway: 'go-away' },
} as const;

/**
 * A stall ends a measurement early, with what there is; on a busy machine it may fall into the
 * warm-up.
 */
const STALLED = /^(measured|client-bound: .*|requests-failed: no request got a reply)$/;

/** Of a load of a model that is not in the repository any more. */
const NOT_FOUND = /^requests-failed: .*has no model 'm'/;

const lost = { code: 'RESTORE_FAILED', message: /could not be put back.*SERVER_UNREACHABLE/ };

export const rows: readonly Row[] = [
  {
    fault: 'loads that are refused, never ready, of another config, too slow, or without memory',
    faults: {
      load: [
        { what: 'refuse', when: when('refused'), message: 'no kernel for this device' },
        { what: 'never-ready', when: when('unready') },
        { what: 'other-config', when: when('other'), change: { max_batch_size: 4 } },
        { what: 'delay', when: when('late'), delay_s: 2 },
        { what: 'out-of-memory', when: when('large') },
      ],
    },
    exitCode: 0,
    fates: {
      refused: /^init-failed: .*no kernel for this device/,
      unready: /^load-timeout: .*did not become ready within 1.5 s/,
      other: /^config-mismatch: .*max_batch_size is 4, not 8/,
      late: /^load-timeout: .*did not finish 'load' in time/,
      large: /^out-of-memory: /,
      slow: 'measured',
    },
  },
  {
    fault: 'a server that dies and comes back with the original config, in a load and in measurements',
    kills: (way, load) => way === 'slow, deadly to load' || (way === 'slow, killed in its load' && load === 1),
    befalls: inTheMiddle({
      [USUAL]: { how: 'crash', times: 1 },
      'slow, killed when measured': { how: 'crash', times: 1 },
    }),
    comesBack: true,
    options: { maxOutage: 5 },
    exitCode: 0,
    fates: {
      'slow, killed in its load': 'measured',
      'slow, deadly to load': /^requests-failed: .*became unreachable 3 times/,
      'slow, killed when measured': 'measured',
    },
  },
  {
    fault: 'a server that dies for good in the middle of a measurement',
    befalls: inTheMiddle({ slow: { how: 'crash', times: 1 } }),
    exitCode: 4,
    error: lost,
    fates: { slow: /^server-lost: / },
  },
  {
    fault: 'somebody who loads the original config or unloads the model in the middle of measurements',
    befalls: inTheMiddle({
      'slow, loaded over once': { how: 'reload', times: 1 },
      'slow, loaded over': { how: 'reload', times: ALWAYS },
      'slow, unloaded once': { how: 'unload', times: 1 },
    }),
    exitCode: 0,
    fates: {
      'slow, loaded over once': 'measured',
      'slow, loaded over':
        /^config-mismatch: somebody changed the model during two measurements.*string_value is "usual"/,
      'slow, unloaded once': 'measured',
    },
  },
  {
    fault: 'somebody who deletes the model from the repository while a candidate is measured',
    befalls: inTheMiddle({ 'slow, served on': { how: 'remove', times: 1 } }),
    exitCode: 4,
    error: { code: 'RESTORE_FAILED', message: /could not be put back.*has no model 'm'.*3 trials in a row/ },
    fates: { 'slow, served on': 'measured', 'not found': NOT_FOUND, 'nor this': NOT_FOUND, 'nor that': NOT_FOUND },
  },
  {
    fault:
      'a model that fails every request, is slow to answer, or never answers one; statistics that go backwards, a metrics page that is none',
    faults: { statistics: [{ what: 'forget', after_reads: 9 }] },
    serverFaults: { metrics: 'malformed' },
    befalls: (request, way) => {
      if (way === 'broken') return { status: 'UNAVAILABLE', message: 'queue full' };
      if (way === 'late') return { delayMs: 40 };
      return way === 'silent once' && request === IN_THE_MIDDLE ? 'hang' : null;
    },
    exitCode: 0,
    fates: { broken: /^requests-failed: queue full/, late: 'measured', 'silent once': STALLED },
  },
  {
    fault: 'connections over gRPC that answer late or are spoilt in a load; statistics that cannot be read',
    faults: { statistics: [{ what: 'fail' }] },
    proxied: true,
    onEvent: mischief('applying', {
      'slow to answer': 'slow',
      'slow, reset': 'reset',
      'slow, half-closed': 'half-close',
      'slow, garbled': 'garbage',
      'slow, refused': 'refuse',
      'slow, sent away': 'go-away, dropped',
    }),
    exitCode: 0,
    fates: measured(
      ...['slow to answer', 'slow, reset', 'slow, half-closed', 'slow, garbled', 'slow, refused', 'slow, sent away'],
    ),
  },
  {
    fault: 'connections over HTTP that are spoilt in measurements; no metrics page',
    serverFaults: { metrics: 'missing' },
    protocol: 'http',
    proxied: true,
    onEvent: mischief('measuring', {
      'slow, reset': 'reset',
      'slow, half-closed': 'half-close',
      'slow, garbled': 'garbage',
      'slow, refused': 'refuse',
    }),
    exitCode: 0,
    fates: measured('slow, reset', 'slow, half-closed', 'slow, garbled', 'slow, refused'),
  },
];

/** Each in a trial of its own. */
export const requestRows = (['grpc', 'http'] as const).map(
  (protocol): Row => ({
    fault: `requests over ${protocol} that break their connection or are turned away`,
    protocol,
    befalls: (request, way) => (request % 8 === 5 ? ((spoilt[protocol] as typeof spoiltOverHttp)[way] ?? null) : null),
    exitCode: 0,
    fates: measured(...Object.keys(spoilt[protocol])),
  }),
);

/** Most of them wait for the deadlines of calls and requests, which no option shortens. */
export const nightlyRows: readonly Row[] = [
  {
    fault: 'a connection for control that is told to go away in the middle of a load',
    faults: { load: [{ what: 'delay', delay_s: 0.6 }] },
    options: { loadTimeout: 10 },
    proxied: true,
    onEvent: mischief(
      'applying',
      { 'slow, answered': 'go-away', 'slow, sent again': 'go-away, refused', 'slow, dropped': 'go-away, dropped' },
      ...[MISCHIEF_MS, 300],
    ),
    exitCode: 0,
    fates: measured('slow, answered', 'slow, sent again', 'slow, dropped'),
  },
  {
    fault: 'a server that dies of each measurement of a candidate',
    befalls: inTheMiddle({ 'slow, deadly to measure': { how: 'crash', times: ALWAYS } }),
    comesBack: true,
    options: { maxOutage: 5 },
    exitCode: 0,
    fates: { 'slow, deadly to measure': /^requests-failed: .*became unreachable 3 times/, slow: 'measured' },
  },
  {
    fault: 'somebody who unloads the model in the middle of every measurement',
    befalls: inTheMiddle({ 'slow, unloaded': { how: 'unload', times: ALWAYS } }),
    exitCode: 0,
    fates: { 'slow, unloaded': /^config-mismatch: .*it is not loaded any more/ },
  },
  {
    fault: 'somebody who deletes the model from the repository before anything was changed',
    befalls: inTheMiddle({ [USUAL]: { how: 'remove', times: 1 } }),
    exitCode: 4,
    error: { code: 'SERVER_FAILED', message: /3 trials in a row.*has no model 'm'/ },
    fates: { 'not found': NOT_FOUND, 'nor this': NOT_FOUND, 'nor that': NOT_FOUND },
  },
  {
    fault: 'somebody who deletes the model from the repository in the middle of a measurement, and unloads it',
    befalls: (request, way) => {
      if (way !== 'slow, gone') return null;
      return request === IN_THE_MIDDLE ? 'remove' : request === IN_THE_MIDDLE + 1 ? 'unload' : null;
    },
    exitCode: 4,
    error: { code: 'RESTORE_FAILED', message: /could not be put back.*has no model 'm'/ },
    fates: { 'slow, gone': NOT_FOUND, 'nor this': NOT_FOUND, 'nor that': NOT_FOUND },
  },
  {
    fault: 'a model that never answers any request',
    befalls: (_, way) => (way === 'silent' ? 'hang' : null),
    exitCode: 0,
    fates: { silent: /^requests-failed: /, slow: 'measured' },
  },
  {
    fault: 'a server that takes everything and says nothing, from the middle of a measurement on',
    proxied: true,
    onEvent: mischief('measuring', { slow: 'silent' }, ENDS_WITHIN_MS),
    exitCode: 4,
    error: { code: 'RESTORE_FAILED', message: /could not be put back/ },
    fates: { slow: /^requests-failed: / },
  },
];
