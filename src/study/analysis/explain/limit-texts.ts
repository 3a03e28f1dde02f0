import { formatMs } from '../../../base/format.ts';
import type { LimitKind } from '../../summary/schema/explanation.ts';
import { cheaperModel, higherLevels, lowerLatency, moreInstances, moreMemory } from './advice.ts';
import { cacheWords } from './engine-load.ts';
import {
  activityWords,
  budgetWords,
  clientWords,
  engineEvidence,
  type FoundLimit,
  gpuWords,
  instanceWords,
  latencyWords,
  missedWords,
  nextLevel,
  nextRate,
  noMoreWords,
  oneMoreWords,
  ownLevel,
  percent,
  stageWords,
  waitingWords,
} from './limit-words.ts';

/** All that is said of one kind of limit. */
interface LimitText {
  /** The limit, to follow "The bottleneck now is". */
  readonly name: (found: FoundLimit) => string;
  /** What shows it, in parentheses behind the name; '' for nothing to say. */
  readonly shownBy: (found: FoundLimit) => readonly string[];
  /** What the sentence adds to the phrase; '' for nothing to say. */
  readonly evidence: (found: FoundLimit) => readonly string[];
  /** What else to try besides the config; empty if no measurement suggests anything. */
  readonly advice: (found: FoundLimit) => readonly string[];
}

const none = (): readonly string[] => [];

/** The kinds of limit: what is said of each, in every document. */
const texts: Readonly<Record<LimitKind, LimitText>> = {
  client: {
    name: () => 'the load generator, not the server',
    shownBy: () => [],
    evidence: (found) => [clientWords(found)],
    advice: () => ['more --client-threads, or a client on a machine of its own'],
  },
  cpu: {
    name: () => "the CPU of the server's machine",
    shownBy: ({ limit }) => [`${percent(limit.cpuShare)} busy`],
    evidence: (found) => [activityWords(found)],
    advice: () => ['more CPU cores, or a machine of its own for the client if it shares this one'],
  },
  compute: {
    name: ({ limit }) => (limit.stage === undefined ? 'compute' : `compute in ${limit.stage}`),
    shownBy: (found) => [
      instanceWords(found.limit) || gpuWords(found.limit) || 'more load serves no more',
      oneMoreWords(found),
    ],
    evidence: (found) => {
      const { limit } = found;
      const isBusyTold = limit.busyShare !== null;
      return [isBusyTold ? gpuWords(limit) : '', limit.engine ? activityWords(found) : '', noMoreWords(found)];
    },
    advice: (found) => [...moreInstances(found), cheaperModel(found), ...moreMemory(found)],
  },
  'kv-cache': {
    name: () => 'the KV cache',
    shownBy: ({ limit }) => [`${percent(limit.engine?.kvCacheShare)} full`, waitingWords(limit)],
    evidence: engineEvidence,
    advice: none,
  },
  sequences: {
    name: ({ limit }) => `the limit of ${limit.engine?.most} sequences at once`,
    shownBy: ({ limit }) => [waitingWords(limit)],
    evidence: (found) => {
      const { engine } = found.limit;
      return [engine ? cacheWords(engine) : '', ...engineEvidence(found)];
    },
    advice: none,
  },
  'queue-delay': {
    name: ({ limit }) => `the batching delay of ${formatMs(limit.queueDelayMs)}`,
    shownBy: ({ limit }) => [`${percent(limit.queueShare)} of a request's time is in the queue`],
    evidence: (found) => [activityWords(found)],
    advice: () => ['more requests at once: they fill the batches sooner'],
  },
  outside: {
    name: () => 'outside the model',
    shownBy: ({ limit }) => [`${percent(limit.outsideShare)} of a request's time is network, front end and client`],
    evidence: (found) => [activityWords(found)],
    advice: () => [
      'smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine',
    ],
  },
  'latency-budget': {
    name: () => 'the latency budget',
    shownBy: (found) => [budgetWords(found), stageWords(found)],
    evidence: (found) => {
      const { missed, higher } = found.limit;
      return [!missed && higher?.missed ? nextRate(found) : '', loneActivity(found)];
    },
    advice: lowerLatency,
  },
  constraint: {
    name: () => 'a constraint',
    shownBy: (found) => [missedWords(found), stageWords(found)],
    evidence: (found) => [loneActivity(found)],
    advice: none,
  },
  'level-range': {
    name: () => 'the load',
    shownBy: (found) => [`${ownLevel(found)} is the highest that was allowed`, stageWords(found)],
    evidence: (found) => ['nothing is saturated', latencyWords(found), loneActivity(found)],
    advice: (found) => [higherLevels(found)],
  },
  unseen: {
    name: () => 'not identified',
    shownBy: (found) => [`more load, ${nextLevel(found)}, serves no more`, stageWords(found)],
    evidence: (found) => [nextRate(found), 'no metric shows why', loneActivity(found)],
    advice: none,
  },
  none: {
    name: () => 'not identified',
    shownBy: (found) => [stageWords(found)],
    evidence: (found) => ['no metric is at its limit', loneActivity(found)],
    advice: none,
  },
};

/** The activity of a single model; of several the phrase has it. */
const loneActivity = (found: FoundLimit): string => (found.limit.stage === undefined ? activityWords(found) : '');

const isSaid = (words: string): boolean => words !== '';

/** Returns the limit as a phrase: `compute (1 instance, 95 % busy, batches full at 16)`. */
export function limitPhrase(found: FoundLimit): string {
  const { name, shownBy } = texts[found.limit.kind];
  const shown = shownBy(found).filter(isSaid).join('; ');
  return shown === '' ? name(found) : `${name(found)} (${shown})`;
}

/** Returns the limit of the best as a sentence with its evidence. */
export const limitSentence = (found: FoundLimit): string =>
  `${[`The bottleneck now is ${limitPhrase(found)}`, ...texts[found.limit.kind].evidence(found)].filter(isSaid).join('; ')}.`;

/** Returns what else to try besides the config, given what limits the best. */
export const adviceOf = (found: FoundLimit): readonly string[] => texts[found.limit.kind].advice(found);
