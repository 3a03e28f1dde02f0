import { parentPort, workerData } from 'node:worker_threads';
import { type Clock, realClock } from '../../base/clock.ts';
import { isTrituneError, messageOf } from '../../base/errors.ts';
import { openAlarm } from '../alarm.ts';
import { watchThread } from '../client-cost.ts';
import { type Flow, localFlow } from '../flow.ts';
import type { Batch } from '../recorder.ts';
import { replyCheck } from '../reply-check.ts';
import { partOfOutputs } from '../shared-memory/shared-outputs.ts';
import { openTransport } from '../transports/open.ts';
import type { RequestSet, Transport } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import {
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
let flow: Flow | undefined;
let [flowNumber, recording] = [0, 0];
let said = '';

const say = (report: Report): void => parentPort?.postMessage(report);

const stateOf = ({ failed, unserved }: Flow): PartState => ({ failed, unserved });

/** Only what is new: who waits for errors must not wait for the end of a batch. */
function sayState(): void {
  if (!flow) return;
  const state = stateOf(flow);
  const text = `${flowNumber} ${recording} ${JSON.stringify(state)}`;
  if (text !== said) say({ type: 'state', flow: flowNumber, recording, state });
  said = text;
}

function sayBatch(from: Flow, batch: Batch): void {
  const { due, failures } = from;
  const packed = { ...packBatch(batch), ...stateOf(from), due, failures };
  say({ type: 'batch', flow: flowNumber, recording, batch: packed });
}

function open({ protocol, options, tolerance }: ThreadSettings['transport']): Transport {
  const check = tolerance === undefined ? undefined : replyCheck(tolerance);
  const sharedOutputs = options.sharedOutputs && partOfOutputs(options.sharedOutputs, settings.part);
  return openTransport(protocol, { ...options, check, sharedOutputs });
}

async function answer(question: Question): Promise<unknown> {
  switch (question.type) {
    case 'begin': {
      const requests = sets.get(question.set) as RequestSet;
      transport ??= open(settings.transport);
      flow = localFlow({ ...question.order, requests }, { transport, clock, alarm }, question.part);
      flowNumber = question.flow;
      return null;
    }
    case 'close-batch':
      await flow?.closeBatch();
      return null;
    case 'take-tally': {
      const tally = await flow?.takeTally();
      return tally ? packTally(tally) : null;
    }
    case 'drain': {
      const left = await flow?.drain(question.limitMs);
      return { left, sent: flow?.sent, mostInFlight: flow?.mostInFlight };
    }
    case 'read-watch':
      return watch.read();
  }
}

function obey(command: Command): void {
  const current = flow;
  switch (command.type) {
    case 'requests':
      sets.set(command.set, command.requests);
      return;
    case 'start':
      current?.start(command.startNs);
      return;
    case 'record':
      recording = command.recording;
      current?.record(command.rule, (batch) => sayBatch(current, batch), command.startNs);
      return;
    case 'stop-recording':
      current?.stopRecording();
      return;
    case 'restart-watch':
      watch.restart();
      return;
  }
}

function fail(error: unknown): void {
  const coded = isTrituneError(error) ? error : { code: 'CLIENT_FAILED', hint: 'please report it' };
  say({ type: 'failed', code: coded.code, message: messageOf(error), hint: coded.hint });
}

setInterval(sayState, STATE_EVERY_MS);
parentPort?.on('message', (message: Command | Question) => {
  if (!('ask' in message)) {
    obey(message);
    return;
  }
  answer(message).then((value) => say({ type: 'answer', ask: message.ask, value }), fail);
});
