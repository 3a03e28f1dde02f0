import { canonicalJson, type Json } from '../../../base/json.ts';
import { seededRandom } from '../../../base/random.ts';
import { type BatcherPolicy, policyOf } from '../../../queueing/batcher-policy.ts';
import type { Assignment, Candidate } from '../../../space/types.ts';
import { instancesOf } from '../../metrics.ts';
import { variantOf } from '../../variant.ts';
import type { SpaceView } from '../space-view.ts';

/** A candidate as the queueing model sees it. */
export interface Choice {
  readonly candidate: Candidate;
  readonly policy: BatcherPolicy;
  /** The largest batch that can form; 1 without dynamic batching. */
  readonly largestBatch: number;
  readonly delayUs: number;
  /** What the queueing model does not know, as one text and field by field. */
  readonly variant: string;
  readonly traits: ReadonlyMap<string, string>;
  /** Choices alike in this are the same to the queueing model. */
  readonly key: string;
}

/** A larger space is sampled, so that a proposal takes seconds at most. */
const MOST_CHOICES = 4000;

/** The candidates of the space, each once: all of them, or a seeded sample of a large space. */
export function choicesOf(space: SpaceView, seed: number): readonly Choice[] {
  const found = new Map<string, Choice>();
  for (const assignment of wholeOf(space) ?? sampleOf(space, seed)) {
    const outcome = space.build(assignment);
    if (outcome.legal && !found.has(outcome.candidate.fingerprint))
      found.set(outcome.candidate.fingerprint, choiceOf(outcome.candidate));
  }
  return [...found.values()];
}

/** null for a large space. */
function wholeOf(space: SpaceView): readonly Assignment[] | null {
  const listed: Assignment[] = [];
  for (const assignment of space.assignments()) {
    if (listed.length === MOST_CHOICES) return null;
    listed.push(assignment);
  }
  return listed;
}

/** Those that are drawn again come once: to build a candidate takes far longer than to draw its assignment. */
function sampleOf(space: SpaceView, seed: number): Iterable<Assignment> {
  const random = seededRandom(seed);
  const drawn = Array.from({ length: MOST_CHOICES }, () => space.sample(random));
  return new Map(drawn.map((assignment) => [JSON.stringify(assignment), assignment])).values();
}

const known = new WeakMap<Candidate, Choice>();

/** Of each candidate once: those of a study's trials are looked at before every proposal. */
export function choiceOf(candidate: Candidate): Choice {
  const choice = known.get(candidate) ?? readChoice(candidate);
  known.set(candidate, choice);
  return choice;
}

function readChoice(candidate: Candidate): Choice {
  const policy = policyOf(candidate.config, instancesOf(candidate.config));
  const largestBatch = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : 1;
  const delayUs = largestBatch > 1 ? policy.maxQueueDelayNs / 1e3 : 0;
  const variant = variantOf(candidate.config);
  const preferred = largestBatch > 1 ? policy.preferredBatchSizes : [];
  const key = canonicalJson([
    variant,
    policy.instances,
    largestBatch,
    delayUs,
    [...preferred],
    policy.prefetch ?? true,
  ]);
  return { candidate, policy, largestBatch, delayUs, variant, traits: traitsOfVariant(variant), key };
}

/** Of the variant read last, which is that of most choices in a row: places of one variant are soon told to be alike. */
let latest: { readonly variant: string; readonly traits: Choice['traits'] } = { variant: 'null', traits: new Map() };

function traitsOfVariant(variant: string): Choice['traits'] {
  if (latest.variant !== variant) latest = { variant, traits: traitsOf(JSON.parse(variant)) };
  return latest.traits;
}

function traitsOf(value: Json, path = '', traits = new Map<string, string>()): Map<string, string> {
  if (value === null || typeof value !== 'object') return traits.set(path, String(value));
  for (const [name, inner] of Object.entries(value)) traitsOf(inner as Json, `${path}.${name}`, traits);
  return traits;
}
