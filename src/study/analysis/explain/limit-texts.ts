import { formatMs } from '../../../base/format.ts';
import { cheaperModel, higherLevels, lowerLatency, moreInstances, moreMemory } from './advice.ts';
import { cacheWords } from './engine-load.ts';
import type { LimitKind } from './limit.ts';
import {
  activityWords,
  budgetWords,
  busyWords,
  clientWords,
  engineEvidence,
  type FoundLimit,
  gpuWords,
  latencyWords,
  missedWords,
  nextLevel,
  nextRate,
  noMoreWords,
  ownLevel,
  percent,
  waitingWords,
} from './limit-words.ts';

/** All that is said of one kind of limit. */
interface LimitText {
  /** The limit without a tense, to follow `limit was`, `limit now` and "The limit now is". */
  readonly phrase: (found: FoundLimit) => string;
  /** What the sentence adds to the phrase; '' for nothing to say. */
  readonly evidence: (found: FoundLimit) => readonly string[];
  /** The beginning of the sentence where "The limit now is" and the phrase do not make one. */
  readonly opening?: string;
  /** What else to try besides the config; empty if no measurement suggests anything. */
  readonly advice: (found: FoundLimit) => readonly string[];
}

const none = (): readonly string[] => [];

/** The kinds of limit: what is said of each, in every document. */
const texts: Readonly<Record<LimitKind, LimitText>> = {
  client: {
    phrase: () => 'the load generator, not the server',
    evidence: (found) => [clientWords(found)],
    advice: () => ['more --client-threads, or a client on a machine of its own'],
  },
  cpu: {
    phrase: ({ limit }) => `the CPU of the server's machine, ${percent(limit.cpuShare)} busy`,
    evidence: (found) => [activityWords(found)],
    advice: () => ['more CPU cores, or a machine of its own for the client if it shares this one'],
  },
  compute: {
    phrase: ({ limit }) => `compute: ${busyWords(limit) || gpuWords(limit) || 'more load serves no more'}`,
    evidence: (found) => {
      const { limit } = found;
      const isBusyTold = limit.busyShare !== null;
      return [isBusyTold ? gpuWords(limit) : '', limit.engine ? activityWords(found) : '', noMoreWords(found)];
    },
    advice: (found) => [...moreInstances(found), cheaperModel(found), ...moreMemory(found)],
  },
  'kv-cache': {
    phrase: ({ limit }) => `the KV cache, ${percent(limit.engine?.kvCacheShare)} full${waitingWords(limit)}`,
    evidence: engineEvidence,
    advice: none,
  },
  sequences: {
    phrase: ({ limit }) => `${limit.engine?.most} sequences at once, the most that it runs${waitingWords(limit)}`,
    evidence: (found) => {
      const { engine } = found.limit;
      return [engine ? cacheWords(engine) : '', ...engineEvidence(found)];
    },
    advice: none,
  },
  'queue-delay': {
    phrase: ({ limit }) =>
      `the batching delay of ${formatMs(limit.queueDelayMs)}: ${percent(limit.queueShare)} of a request's time is in the queue`,
    evidence: (found) => [activityWords(found)],
    advice: () => ['more requests at once: they fill the batches sooner'],
  },
  outside: {
    phrase: ({ limit }) =>
      `outside the model: ${percent(limit.outsideShare)} of a request's time is network, front end and client`,
    evidence: (found) => [activityWords(found)],
    advice: () => [
      'smaller tensors, a nearer client, or --shared-memory system where the client runs on the same machine',
    ],
  },
  'latency-budget': {
    phrase: (found) => `the latency budget: ${budgetWords(found)}`,
    evidence: (found) => {
      const { missed, higher } = found.limit;
      return [!missed && higher?.missed ? nextRate(found) : '', activityWords(found)];
    },
    advice: lowerLatency,
  },
  constraint: {
    phrase: (found) => ['the goal', missedWords(found)].filter(isSaid).join(': '),
    evidence: (found) => [activityWords(found)],
    advice: none,
  },
  'level-range': {
    phrase: (found) => `the load: ${ownLevel(found)} is the highest that was allowed`,
    evidence: (found) => ['nothing is saturated', latencyWords(found), activityWords(found)],
    advice: (found) => [higherLevels(found)],
  },
  unseen: {
    phrase: (found) => `not known: more load (${nextLevel(found)}) serves no more`,
    evidence: (found) => [nextRate(found), 'nothing that was measured tells why', activityWords(found)],
    advice: none,
  },
  none: {
    phrase: () => 'none seen in what was measured',
    opening: 'Nothing that was measured is at its limit',
    evidence: (found) => [activityWords(found)],
    advice: none,
  },
};

const isSaid = (words: string): boolean => words !== '';

/** Returns the limit as a phrase without a tense. */
export const limitPhrase = (found: FoundLimit): string => texts[found.limit.kind].phrase(found);

/** Returns the limit of the best as a sentence with its evidence. */
export function limitSentence(found: FoundLimit): string {
  const { opening, phrase, evidence } = texts[found.limit.kind];
  return `${[opening ?? `The limit now is ${phrase(found)}`, ...evidence(found)].filter(isSaid).join('; ')}.`;
}

/** Returns what else to try besides the config, given what limits the best. */
export const adviceOf = (found: FoundLimit): readonly string[] => texts[found.limit.kind].advice(found);
