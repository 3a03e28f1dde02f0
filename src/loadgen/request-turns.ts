import { TrituneError } from '#base/errors.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { type Part, whole } from './paced-part.ts';
import type { InferRequest, PreparedRequest, RequestClass, RequestSet, Transport } from './types.ts';

/**
 * Encodes every request of the set once and returns them in turn, repeatedly, without memory or
 * work per request. A part returns every `of`-th request of that endless sequence, from number
 * `index` on.
 */
export function requestCycle<P extends PreparedRequest>(
  transport: Transport<P>,
  { requests }: RequestSet,
  { index, of }: Part = whole,
): () => P {
  const turns = requests.length / commonDivisor(requests.length, of);
  const prepared = Array.from({ length: turns }, (_, turn) =>
    transport.prepare(requests[(index + turn * of) % requests.length] as InferRequest),
  );
  let at = -1;
  return () => {
    at = at + 1 === turns ? 0 : at + 1;
    return prepared[at] as P;
  };
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** The order of requests. Turns count from 0; a dropped request uses up its turn. */
export interface RequestTurns<P> {
  readonly nextRequest: (turn: number) => P;
  /**
   * Class of the request of a turn, as an index into the set's classes; absent for sets without
   * classes.
   */
  readonly classOf?: ((turn: number) => number) | undefined;
}

/**
 * Returns the requests of a set in turn, each encoded once. With a plan and classes, a turn takes
 * the next request of the class that the plan has at that arrival; otherwise the next of all. A
 * part takes every `of`-th turn of that endless sequence, from number `index` on, so that all parts
 * together send what the whole would. Errors: INPUT_INVALID for a plan with other classes.
 */
export function requestTurns<P extends PreparedRequest>(
  transport: Transport<P>,
  set: RequestSet,
  part: Part = whole,
  plan?: ArrivalPlan,
): RequestTurns<P> {
  const { classes } = set;
  if (classes === undefined) return { nextRequest: requestCycle(transport, set, part) };
  return plan
    ? turnsOfPlan(transport, { ...set, classes }, part, plan)
    : turnsInOrder(transport, { ...set, classes }, part);
}

type ClassedSet = RequestSet & { readonly classes: readonly RequestClass[] };

function turnsInOrder<P extends PreparedRequest>(
  transport: Transport<P>,
  { requests, classes }: ClassedSet,
  { index, of }: Part,
): RequestTurns<P> {
  const prepared = requests.map((request) => transport.prepare(request));
  const classOf = Uint16Array.from(classes.flatMap((each, at) => Array.from({ length: each.requests }, () => at)));
  const toPlace = (turn: number): number => (index + turn * of) % prepared.length;
  return {
    nextRequest: (turn) => prepared[toPlace(turn)] as P,
    classOf: (turn) => classOf[toPlace(turn)] as number,
  };
}

function turnsOfPlan<P extends PreparedRequest>(
  transport: Transport<P>,
  { requests, classes }: ClassedSet,
  { index, of }: Part,
  plan: ArrivalPlan,
): RequestTurns<P> {
  checkClasses(classes, plan);
  const prepared = requests.map((request) => transport.prepare(request));
  const firsts = classes.map((_, at) => classes.slice(0, at).reduce((sum, each) => sum + each.requests, 0));
  const { classOf } = plan;
  const perPass = classOf.length;
  const ofClass = classes.map(() => 0);
  // For each arrival, the number of earlier ones of its class in a pass. So the turn of a class
  // does not depend on what other threads send.
  const ranks = Uint32Array.from(classOf, (each) => (ofClass[each] as number)++);
  const findArrival = (turn: number): number => (index + turn * of) % perPass;
  return {
    nextRequest: (turn) => {
      const arrival = findArrival(turn);
      const pass = Math.floor((index + turn * of) / perPass);
      const classIndex = classOf[arrival] as number;
      const turnOfClass = pass * (ofClass[classIndex] as number) + (ranks[arrival] as number);
      const { requests: count } = classes[classIndex] as RequestClass;
      return prepared[(firsts[classIndex] as number) + (turnOfClass % count)] as P;
    },
    classOf: (turn) => classOf[findArrival(turn)] as number,
  };
}

function checkClasses(classes: readonly RequestClass[], plan: ArrivalPlan): void {
  const names = classes.map(({ name }) => name);
  if (names.length === plan.classes.length && names.every((name, at) => name === plan.classes[at])) return;
  throw new TrituneError(
    'INPUT_INVALID',
    `the plan of arrivals has the classes ${plan.classes.join(', ')}, the requests those of ${names.join(', ')}`,
    'give requests for each class of the plan, in its order',
  );
}
