import { formatMs } from '#base/format.ts';
import type { LimitKind } from '../../summary/explanation-schema.ts';
import { cheaperModel, higherLevels, lowerLatency, moreInstances, moreMemory } from './advice.ts';
import { cacheWords } from './engine-load.ts';
import {
  activityWords,
  budgetWords,
  clientWords,
  engineEvidence,
  gpuWords,
  instanceWords,
  type LimitingFactor,
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
  readonly name: (limitingFactor: LimitingFactor) => string;
  /** What shows it, in parentheses behind the name; '' for nothing to say. */
  readonly shownBy: (limitingFactor: LimitingFactor) => readonly string[];
  /** What the sentence adds to the phrase; '' for nothing to say. */
  readonly evidence: (limitingFactor: LimitingFactor) => readonly string[];
  /** What else to try besides the config; empty if no measurement suggests anything. */
  readonly advice: (limitingFactor: LimitingFactor) => readonly string[];
}

const none = (): readonly string[] => [];

/** The kinds of limit: what is said of each, in every document. */
const texts: Readonly<Record<LimitKind, LimitText>> = {
  client: {
    name: () => 'the load generator, not the server',
    shownBy: () => [],
    evidence: (limitingFactor) => [clientWords(limitingFactor)],
    advice: () => ['more --client-threads, or a client on a machine of its own'],
  },
  cpu: {
    name: () => "the CPU of the server's machine",
    shownBy: ({ limit }) => [`${percent(limit.cpuShare)} busy`],
    evidence: (limitingFactor) => [activityWords(limitingFactor)],
    advice: () => ['more CPU cores, or a machine of its own for the client if it shares this one'],
  },
  compute: {
    name: ({ limit }) => (limit.stage === undefined ? 'compute' : `compute in ${limit.stage}`),
    shownBy: (limitingFactor) => [
      instanceWords(limitingFactor.limit) || gpuWords(limitingFactor.limit) || 'more load serves no more',
      oneMoreWords(limitingFactor),
    ],
    evidence: (limitingFactor) => {
      const { limit } = limitingFactor;
      const isBusyTold = limit.busyShare !== null;
      return [
        isBusyTold ? gpuWords(limit) : '',
        limit.engine ? activityWords(limitingFactor) : '',
        noMoreWords(limitingFactor),
      ];
    },
    advice: (limitingFactor) => [
      ...moreInstances(limitingFactor),
      cheaperModel(limitingFactor),
      ...moreMemory(limitingFactor),
    ],
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
    evidence: (limitingFactor) => {
      const { engine } = limitingFactor.limit;
      return [engine ? cacheWords(engine) : '', ...engineEvidence(limitingFactor)];
    },
    advice: none,
  },
  'queue-delay': {
    name: ({ limit }) => `the batching delay of ${formatMs(limit.queueDelayMs)}`,
    shownBy: ({ limit }) => [`${percent(limit.queueShare)} of a request's time is in the queue`],
    evidence: (limitingFactor) => [activityWords(limitingFactor)],
    advice: () => ['more requests at once: they fill the batches sooner'],
  },
  outside: {
    name: () => 'outside the model',
    shownBy: ({ limit }) => [`${percent(limit.outsideShare)} of a request's time is network, front end and client`],
    evidence: (limitingFactor) => [activityWords(limitingFactor)],
    advice: () => [
      'smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine',
    ],
  },
  'latency-budget': {
    name: () => 'the latency budget',
    shownBy: (limitingFactor) => [budgetWords(limitingFactor), stageWords(limitingFactor)],
    evidence: (limitingFactor) => {
      const { missed, higher } = limitingFactor.limit;
      return [!missed && higher?.missed ? nextRate(limitingFactor) : '', loneActivity(limitingFactor)];
    },
    advice: lowerLatency,
  },
  constraint: {
    name: () => 'a constraint',
    shownBy: (limitingFactor) => [missedWords(limitingFactor), stageWords(limitingFactor)],
    evidence: (limitingFactor) => [loneActivity(limitingFactor)],
    advice: none,
  },
  'level-range': {
    name: () => 'the load',
    shownBy: (limitingFactor) => [
      `${ownLevel(limitingFactor)} is the highest that was allowed`,
      stageWords(limitingFactor),
    ],
    evidence: (limitingFactor) => ['nothing is saturated', latencyWords(limitingFactor), loneActivity(limitingFactor)],
    advice: (limitingFactor) => [higherLevels(limitingFactor)],
  },
  unseen: {
    name: () => 'not identified',
    shownBy: (limitingFactor) => [
      `more load, ${nextLevel(limitingFactor)}, serves no more`,
      stageWords(limitingFactor),
    ],
    evidence: (limitingFactor) => [nextRate(limitingFactor), 'no metric shows why', loneActivity(limitingFactor)],
    advice: none,
  },
  none: {
    name: () => 'not identified',
    shownBy: (limitingFactor) => [stageWords(limitingFactor)],
    evidence: (limitingFactor) => ['no metric is at its limit', loneActivity(limitingFactor)],
    advice: none,
  },
};

/** The activity of a single model; of several the phrase has it. */
const loneActivity = (limitingFactor: LimitingFactor): string =>
  limitingFactor.limit.stage === undefined ? activityWords(limitingFactor) : '';

const isSaid = (words: string): boolean => words !== '';

/** Returns the limit as a phrase: `compute (1 instance, 95 % busy, batches full at 16)`. */
export function limitPhrase(limitingFactor: LimitingFactor): string {
  const { name, shownBy } = texts[limitingFactor.limit.kind];
  const shown = shownBy(limitingFactor).filter(isSaid).join('; ');
  return shown === '' ? name(limitingFactor) : `${name(limitingFactor)} (${shown})`;
}

/** Returns the limit of the best as a sentence with its evidence. */
export const limitSentence = (limitingFactor: LimitingFactor): string =>
  `${[`The bottleneck now is ${limitPhrase(limitingFactor)}`, ...texts[limitingFactor.limit.kind].evidence(limitingFactor)].filter(isSaid).join('; ')}.`;

/** Returns what else to try besides the config, given what limits the best. */
export const listAdvice = (limitingFactor: LimitingFactor): readonly string[] =>
  texts[limitingFactor.limit.kind].advice(limitingFactor);
