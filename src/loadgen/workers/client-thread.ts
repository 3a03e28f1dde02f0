import { parentPort, workerData } from 'node:worker_threads';
import { openAlarm } from '../../base/alarm.ts';
import { type Clock, realClock } from '../../base/clock.ts';
import { isTrituneError, messageOf } from '../../base/errors.ts';
import { watchThread } from '../client-cost.ts';
import { type Flow, localFlow } from '../flow.ts';
import type { Batch } from '../recorder.ts';
import { replyCheck } from '../reply-check.ts';
import { partOfOutputs } from '../shared-memory/shared-outputs.ts';
import { openTransport } from '../transports/open.ts';
import type { RequestSet, Transport } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import {
  type Answers,
  type Command,
  type PartState,
  packBatch,
  packTally,
  type Question,
  type Report,
  type ThreadSettings,
} from './messages.ts';

/**
 * A thread of the load generator, behind `open-workers.ts`: sends its share of each order over a transport of its own,
 * counts what completes, and says so batch by batch. Its times are those of the clock of who started it.
 */
const settings = workerData as ThreadSettings;
const STATE_EVERY_MS = 25;

const shiftNs = clockZeroNs() - settings.clockZeroNs;
const clock: Clock = { ...realClock, nowNs: () => realClock.nowNs() + shiftNs };
const alarm = openAlarm();
const watch = watchThread(settings.part.of);
const sets = new Map<number, RequestSet>();
let transport: Transport | undefined;
/** By number. One may be opened before another is sent. */
const flows = new Map<number, RunningFlow>();

interface RunningFlow {
  readonly flow: Flow;
  recording: number;
  isDrained: boolean;
  /** The state as it was last told. */
  said: string;
}

const say = (report: Report): void => parentPort?.postMessage(report);

const stateOf = ({ failed, unserved }: Flow): PartState => ({ failed, unserved });

/** Only what is new: who waits for errors must not wait for the end of a batch. */
function sayStates(): void {
  for (const [number, running] of flows) {
    const { flow, recording } = running;
    const state = stateOf(flow);
    const text = `${recording} ${JSON.stringify(state)}`;
    if (text !== running.said) say({ type: 'state', flow: number, recording, state });
    running.said = text;
  }
}

function sayBatch(number: number, { flow, recording }: RunningFlow, batch: Batch): void {
  const { due, failures } = flow;
  say({ type: 'batch', flow: number, recording, batch: { ...packBatch(batch), ...stateOf(flow), due, failures } });
}

function open({ protocol, options, tolerance }: ThreadSettings['transport']): Transport {
  const check = tolerance === undefined ? undefined : replyCheck(tolerance);
  const sharedOutputs = options.sharedOutputs && partOfOutputs(options.sharedOutputs, settings.part);
  return openTransport(protocol, { ...options, check, sharedOutputs });
}

function begin({ flow: number, set, order, part }: Answers['begin']): void {
  transport ??= open(settings.transport);
  for (const [old, { isDrained }] of flows) if (isDrained) flows.delete(old);
  const requests = sets.get(set) as RequestSet;
  const flow = localFlow({ ...order, requests }, { transport, clock, alarm }, part);
  flows.set(number, { flow, recording: 0, isDrained: false, said: '' });
}

async function answer(question: Question): Promise<unknown> {
  if (question.type === 'read-watch') return watch.read();
  if (question.type === 'begin') {
    begin(question);
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
      const left = await flow.drain(question.limitMs);
      return { left, sent: flow.sent, mostInFlight: flow.mostInFlight };
    }
  }
}

function obey(command: Command): void {
  if (command.type === 'requests') sets.set(command.set, command.requests);
  else if (command.type === 'restart-watch') watch.restart();
  else direct(command, flows.get(command.flow) as RunningFlow);
}

function direct(
  command: Exclude<Command, { readonly type: 'requests' | 'restart-watch' }>,
  running: RunningFlow,
): void {
  switch (command.type) {
    case 'start':
      running.flow.start(command.startNs);
      return;
    case 'record':
      running.recording = command.recording;
      running.flow.record(command.rule, (batch) => sayBatch(command.flow, running, batch), command.startNs);
      return;
    case 'stop-recording':
      running.flow.stopRecording();
      return;
  }
}

function fail(error: unknown): void {
  const coded = isTrituneError(error) ? error : { code: 'CLIENT_FAILED', hint: 'please report it' };
  say({ type: 'failed', code: coded.code, message: messageOf(error), hint: coded.hint });
}

setInterval(sayStates, STATE_EVERY_MS);
parentPort?.on('message', (message: Command | Question) => {
  if (!('ask' in message)) {
    obey(message);
    return;
  }
  answer(message).then((value) => say({ type: 'answer', ask: message.ask, value }), fail);
});
