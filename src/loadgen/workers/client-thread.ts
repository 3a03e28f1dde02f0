import { parentPort, workerData } from 'node:worker_threads';
import { openAlarm } from '#base/alarm.ts';
import { type Clock, realClock } from '#base/clock.ts';
import { formatMessage, isTrituneError, type TrituneError } from '#base/errors.ts';
import { watchThread } from '../client/cost.ts';
import { openEndpoint } from '../endpoints/open-endpoint.ts';
import { type Flow, localFlow } from '../flow.ts';
import { observedTransport } from '../observed-transport.ts';
import { openPlainHttp } from '../plain-http.ts';
import type { Batch } from '../recorder.ts';
import { replyCheck } from '../reply-check.ts';
import { partOfOutputs } from '../shared-memory/shared-outputs.ts';
import { listBuffers } from '../token-tally.ts';
import { openTransport } from '../transports/open.ts';
import { redacting } from '../transports/redacting-transport.ts';
import type { SocketGate } from '../transports/socket.ts';
import type { RequestSet, Transport } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import {
  type Answers,
  type PartState,
  packBatch,
  packTally,
  type ThreadCommand,
  type ThreadQuestion,
  type ThreadReport,
  type ThreadSettings,
} from './messages.ts';
import { ObservedRequests } from './observed-requests.ts';
import { type PauseWatch, watchPauses } from './pause-watch.ts';
import { limitedSends, SendThrottle, SharedConnections } from './send-limits.ts';

/**
 * A thread of the load generator, behind `open-workers.ts`: sends its share of each order over its
 * own transport, counts completions, and reports them batch by batch. Its times are on the clock of
 * its starter.
 */
const settings = workerData as ThreadSettings;
const STATE_EVERY_MS = 25;

const shiftNs = clockZeroNs() - settings.clockZeroNs;
const clock: Clock = { ...realClock, nowNs: () => realClock.nowNs() + shiftNs };
const alarm = openAlarm();
const watch = watchThread(settings.part.of);
const sets = new Map<number, RequestSet>();
const observed = 'observes' in settings.transport && settings.transport.observes ? new ObservedRequests() : null;
let transport: Transport | undefined;
let nullTransport: Transport | undefined;
/** By number. A flow may be opened before another one is sent. */
const flows = new Map<number, RunningFlow>();

interface RunningFlow {
  readonly flow: Flow;
  recording: number;
  isDrained: boolean;
  pauses: PauseWatch | undefined;
  /** The state as last reported. */
  said: PartState & { readonly recording: number };
}

const say = (report: ThreadReport, moved: readonly ArrayBuffer[] = []): void => parentPort?.postMessage(report, moved);

const toState = ({ failedSoFar, unserved, due }: Flow): PartState => ({ failedSoFar, unserved, due });

/** Reports only changes: errors must not wait for the end of a batch. */
function sayStates(): void {
  for (const [number, running] of flows) {
    const { flow, recording } = running;
    const state = toState(flow);
    const { said } = running;
    const isSame = said.failedSoFar === state.failedSoFar && said.unserved === state.unserved && said.due === state.due;
    if (said.recording === recording && isSame) continue;
    running.said = { recording, ...state };
    say({ type: 'state', flow: number, recording, state });
  }
}

function sayObserved(): void {
  const requests = observed?.take() ?? [];
  if (requests.length > 0) say({ type: 'observed', requests });
}

function sayBatch(number: number, { flow, recording, pauses }: RunningFlow, batch: Batch): void {
  const packed = { ...packBatch(batch), ...(pauses && { heldUp: pauses.take() }) };
  const histograms = [packed.latencies, ...(packed.fromDue ? [packed.fromDue] : [])];
  const ofClasses = packed.classes?.map(({ latencies }) => latencies) ?? [];
  const moved = [
    ...[...histograms, ...ofClasses].map(({ cells }) => cells.buffer),
    ...(packed.tokens ? listBuffers(packed.tokens) : []),
  ];
  say({ type: 'batch', flow: number, recording, batch: packed, state: toState(flow), sentSoFar: flow.sent }, moved);
}

const { limits } = settings;
const gate: SocketGate | undefined = limits && createGate(new SharedConnections(limits), limits.addresses);
/** The null server is on this machine, at an address that the agent chose. */
const nullGate: SocketGate | undefined = gate && { ...gate, addresses: null };
let isOverLimit = false;

function createGate(connections: SharedConnections, addresses: SocketGate['addresses']): SocketGate {
  return {
    addresses,
    take() {
      const refusal = connections.take();
      if (refusal) overLimit(refusal);
      return refusal;
    },
    release: () => connections.release(),
  };
}

/** Ends the thread's use at the first excess. */
function overLimit(fault: TrituneError): void {
  if (!isOverLimit) fail(fault);
  isOverLimit = true;
}

const throttle = limits && new SendThrottle(limits, clock.nowNs, overLimit);

function open(of: ThreadSettings['transport']): Transport {
  const opened = openUnlimited(of);
  return throttle ? limitedSends(opened, throttle) : opened;
}

function openUnlimited(of: ThreadSettings['transport']): Transport {
  if (of.protocol === 'plain-http') {
    const plain = openPlainHttp({ ...of.options, gate }, of.request);
    return of.secrets.length > 0 ? redacting(plain, of.secrets) : plain;
  }
  if (of.protocol === 'language') return observing(openEndpoint({ ...of.options, gate }));
  const { protocol, options, tolerance } = of;
  const check = tolerance === undefined ? undefined : replyCheck(tolerance);
  const sharedOutputs = options.sharedOutputs && partOfOutputs(options.sharedOutputs, settings.part);
  const readsReplies = observed !== null;
  return observing(openTransport(protocol, { ...options, check, readsReplies, sharedOutputs, gate }));
}

const observing = (opened: Transport): Transport =>
  observed ? observedTransport(opened, clock, (request) => observed.add(request)) : opened;

/** Opens a transport with only the options that the null server understands. */
function openNull(url: string): Transport {
  if (settings.transport.protocol === 'plain-http') {
    const { options, request } = settings.transport;
    return openPlainHttp({ ...options, address: url, tls: undefined, gate: nullGate }, request);
  }
  if (settings.transport.protocol === 'language') {
    return openEndpoint({ ...settings.transport.options, address: url, tls: undefined, gate: nullGate });
  }
  const { protocol, options } = settings.transport;
  return openTransport(protocol, { ...options, url, tls: undefined, sharedOutputs: undefined, gate: nullGate });
}

function createTransport(nullServer: string | undefined): Transport {
  if (nullServer !== undefined) {
    nullTransport ??= openNull(nullServer);
    return nullTransport;
  }
  transport ??= open(settings.transport);
  return transport;
}

async function leaveNullServer(): Promise<void> {
  const left = nullTransport;
  nullTransport = undefined;
  await left?.close();
}

function begin({ flow: number, set, order, part, nullServer }: Answers['begin']): void {
  for (const [old, { isDrained }] of flows) if (isDrained) flows.delete(old);
  const requests = sets.get(set) as RequestSet;
  // The null server, on this machine, has no limit.
  const means = { transport: createTransport(nullServer), clock, alarm, ...(nullServer === undefined && { throttle }) };
  const flow = localFlow({ ...order, requests }, means, part);
  const said = { recording: 0, failedSoFar: 0, unserved: null, due: null };
  flows.set(number, { flow, recording: 0, isDrained: false, pauses: undefined, said });
}

/** Only recorded flows are watched, because watching has a small cost. */
function watchFor(running: RunningFlow, everyNs: number | undefined): void {
  running.pauses?.stop();
  running.pauses = everyNs === undefined ? undefined : watchPauses(everyNs, shiftNs);
}

async function answer(question: ThreadQuestion): Promise<unknown> {
  if (question.type === 'read-watch') return watch.read();
  if (question.type === 'begin') {
    begin(question);
    return null;
  }
  if (question.type === 'leave-null-server') {
    await leaveNullServer();
    return null;
  }
  const running = flows.get(question.flow) as RunningFlow;
  const { flow } = running;
  switch (question.type) {
    case 'close-batch':
      await flow.closeBatch();
      return null;
    case 'take-tally': {
      const tally = await flow.takeTally();
      return tally && packTally(tally);
    }
    case 'drain': {
      running.isDrained = true;
      watchFor(running, undefined);
      const left = await flow.drain(question.limitMs);
      sayObserved();
      return { left, sent: flow.sent, mostInFlight: flow.mostInFlight };
    }
  }
}

function obey(command: ThreadCommand): void {
  if (command.type === 'requests') {
    sets.set(command.set, command.requests);
    observed?.learn(command.set, command.requests);
  } else if (command.type === 'restart-watch') watch.restart();
  else direct(command, flows.get(command.flow) as RunningFlow);
}

function direct(
  command: Exclude<ThreadCommand, { readonly type: 'requests' | 'restart-watch' }>,
  running: RunningFlow,
): void {
  switch (command.type) {
    case 'start':
      running.flow.start(command.startNs);
      return;
    case 'record':
      running.recording = command.recording;
      watchFor(running, command.rule.watchEveryNs);
      running.flow.record(command.rule, (batch) => sayBatch(command.flow, running, batch), command.startNs);
      return;
    case 'stop-recording':
      watchFor(running, undefined);
      running.flow.stopRecording();
      return;
  }
}

function fail(error: unknown): void {
  const coded = isTrituneError(error) ? error : { code: 'CLIENT_FAILED', hint: 'please report it' };
  say({ type: 'failed', code: coded.code, message: formatMessage(error), hint: coded.hint });
}

setInterval(sayStates, STATE_EVERY_MS);
if (observed) setInterval(sayObserved, STATE_EVERY_MS);
parentPort?.on('message', (message: ThreadCommand | ThreadQuestion) => {
  if (!('ask' in message)) {
    obey(message);
    return;
  }
  answer(message).then((value) => say({ type: 'answer', ask: message.ask, value }), fail);
});
