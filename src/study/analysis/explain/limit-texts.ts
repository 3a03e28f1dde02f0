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
  readonly name: (foundLimit: FoundLimit) => string;
  /** What shows it, in parentheses behind the name; '' for nothing to say. */
  readonly shownBy: (foundLimit: FoundLimit) => readonly string[];
  /** What the sentence adds to the phrase; '' for nothing to say. */
  readonly evidence: (foundLimit: FoundLimit) => readonly string[];
  /** What else to try besides the config; empty if no measurement suggests anything. */
  readonly advice: (foundLimit: FoundLimit) => readonly string[];
}

const none = (): readonly string[] => [];

/** The kinds of limit: what is said of each, in every document. */
const texts: Readonly<Record<LimitKind, LimitText>> = {
  client: {
    name: () => 'the load generator, not the server',
    shownBy: () => [],
    evidence: (foundLimit) => [clientWords(foundLimit)],
    advice: () => ['more --client-threads, or a client on a machine of its own'],
  },
  cpu: {
    name: () => "the CPU of the server's machine",
    shownBy: ({ limit }) => [`${percent(limit.cpuShare)} busy`],
    evidence: (foundLimit) => [activityWords(foundLimit)],
    advice: () => ['more CPU cores, or a machine of its own for the client if it shares this one'],
  },
  compute: {
    name: ({ limit }) => (limit.stage === undefined ? 'compute' : `compute in ${limit.stage}`),
    shownBy: (foundLimit) => [
      instanceWords(foundLimit.limit) || gpuWords(foundLimit.limit) || 'more load serves no more',
      oneMoreWords(foundLimit),
    ],
    evidence: (foundLimit) => {
      const { limit } = foundLimit;
      const isBusyTold = limit.busyShare !== null;
      return [
        isBusyTold ? gpuWords(limit) : '',
        limit.engine ? activityWords(foundLimit) : '',
        noMoreWords(foundLimit),
      ];
    },
    advice: (foundLimit) => [...moreInstances(foundLimit), cheaperModel(foundLimit), ...moreMemory(foundLimit)],
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
    evidence: (foundLimit) => {
      const { engine } = foundLimit.limit;
      return [engine ? cacheWords(engine) : '', ...engineEvidence(foundLimit)];
    },
    advice: none,
  },
  'queue-delay': {
    name: ({ limit }) => `the batching delay of ${formatMs(limit.queueDelayMs)}`,
    shownBy: ({ limit }) => [`${percent(limit.queueShare)} of a request's time is in the queue`],
    evidence: (foundLimit) => [activityWords(foundLimit)],
    advice: () => ['more requests at once: they fill the batches sooner'],
  },
  outside: {
    name: () => 'outside the model',
    shownBy: ({ limit }) => [`${percent(limit.outsideShare)} of a request's time is network, front end and client`],
    evidence: (foundLimit) => [activityWords(foundLimit)],
    advice: () => [
      'smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine',
    ],
  },
  'latency-budget': {
    name: () => 'the latency budget',
    shownBy: (foundLimit) => [budgetWords(foundLimit), stageWords(foundLimit)],
    evidence: (foundLimit) => {
      const { missed, higher } = foundLimit.limit;
      return [!missed && higher?.missed ? nextRate(foundLimit) : '', loneActivity(foundLimit)];
    },
    advice: lowerLatency,
  },
  constraint: {
    name: () => 'a constraint',
    shownBy: (foundLimit) => [missedWords(foundLimit), stageWords(foundLimit)],
    evidence: (foundLimit) => [loneActivity(foundLimit)],
    advice: none,
  },
  'level-range': {
    name: () => 'the load',
    shownBy: (foundLimit) => [`${ownLevel(foundLimit)} is the highest that was allowed`, stageWords(foundLimit)],
    evidence: (foundLimit) => ['nothing is saturated', latencyWords(foundLimit), loneActivity(foundLimit)],
    advice: (foundLimit) => [higherLevels(foundLimit)],
  },
  unseen: {
    name: () => 'not identified',
    shownBy: (foundLimit) => [`more load, ${nextLevel(foundLimit)}, serves no more`, stageWords(foundLimit)],
    evidence: (foundLimit) => [nextRate(foundLimit), 'no metric shows why', loneActivity(foundLimit)],
    advice: none,
  },
  none: {
    name: () => 'not identified',
    shownBy: (foundLimit) => [stageWords(foundLimit)],
    evidence: (foundLimit) => ['no metric is at its limit', loneActivity(foundLimit)],
    advice: none,
  },
};

/** The activity of a single model; of several the phrase has it. */
const loneActivity = (foundLimit: FoundLimit): string =>
  foundLimit.limit.stage === undefined ? activityWords(foundLimit) : '';

const isSaid = (words: string): boolean => words !== '';

/** Returns the limit as a phrase: `compute (1 instance, 95 % busy, batches full at 16)`. */
export function limitPhrase(foundLimit: FoundLimit): string {
  const { name, shownBy } = texts[foundLimit.limit.kind];
  const shown = shownBy(foundLimit).filter(isSaid).join('; ');
  return shown === '' ? name(foundLimit) : `${name(foundLimit)} (${shown})`;
}

/** Returns the limit of the best as a sentence with its evidence. */
export const limitSentence = (foundLimit: FoundLimit): string =>
  `${[`The bottleneck now is ${limitPhrase(foundLimit)}`, ...texts[foundLimit.limit.kind].evidence(foundLimit)].filter(isSaid).join('; ')}.`;

/** Returns what else to try besides the config, given what limits the best. */
export const listAdvice = (foundLimit: FoundLimit): readonly string[] =>
  texts[foundLimit.limit.kind].advice(foundLimit);
