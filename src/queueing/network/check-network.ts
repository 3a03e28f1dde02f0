import { TrituneError } from '#base/errors.ts';
import { checkServiceLaw } from '../service-law.ts';
import { checkTraffic, MAX_REQUESTS } from '../traffic.ts';
import { createPlan } from './plan.ts';
import type { Network } from './types.ts';

/** Checks a network. Throws INPUT_INVALID, or CONFIG_INVALID for a policy, with the fault. */
export function checkNetwork({ stages, devices = [], fronts }: Network): void {
  if (fronts.length === 0) refuse('nobody sends it requests', 'give one front at least');
  for (const named of [stages, devices, fronts]) checkNames(named.map(({ name }) => name));
  for (const { name, interference, atOnce } of devices) {
    if (!(interference >= 0 && interference < Number.POSITIVE_INFINITY)) {
      refuse(`the interference of device '${name}' is ${interference}`, 'give a finite number of at least 0');
    }
    if (atOnce !== undefined && !(Number.isInteger(atOnce) && atOnce >= 1)) {
      refuse(`device '${name}' runs ${atOnce} executions at once`, 'give an integer of at least 1');
    }
  }
  for (const { name, law, device } of stages) {
    checkServiceLaw(law);
    if (!device) continue;
    if (!devices.some((each) => each.name === device.name)) {
      refuse(`stage '${name}' runs on '${device.name}', which is not a device`, 'give the name of a device');
    }
    if (!(device.share > 0 && device.share <= 1)) {
      refuse(`an execution of '${name}' takes ${device.share} of its device`, 'give a share above 0 and at most 1');
    }
  }
  for (const { name, traffic, frontEndNs = 0 } of fronts) {
    checkTraffic(traffic);
    if (!(frontEndNs >= 0 && frontEndNs < Number.POSITIVE_INFINITY)) {
      refuse(`the front end takes ${frontEndNs} ns for '${name}'`, 'give a finite time of at least 0');
    }
  }
  const sizes = [
    ...stages.map(({ policy }) => policy.instances),
    ...fronts.map(({ traffic }) => (traffic.kind === 'closed' ? traffic.concurrency : 1)),
  ];
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_REQUESTS) {
    refuse('it has more clients and instances than are simulated', `give at most ${MAX_REQUESTS} of both together`);
  }
  checkCalls(stages);
}

/** An instance that waits for its own model may wait forever. */
function checkCalls(stages: Network['stages']): void {
  const findStage = stageFinder(stages);
  const called = stages.map(({ name, calls = [] }) =>
    calls.flatMap(({ steps, requestsPerSample = 1 }) => {
      if (!(requestsPerSample >= 0 && requestsPerSample < Number.POSITIVE_INFINITY)) {
        refuse(`'${name}' makes ${requestsPerSample} requests of a sample`, 'give a finite number of at least 0');
      }
      return createPlan(steps, findStage).steps.map(({ stage }) => stage);
    }),
  );
  const follow = (stage: number, callers: readonly number[]): void => {
    if (callers.includes(stage)) refuse(`'${stages[stage]?.name}' calls itself in the end`, 'leave that call out');
    for (const each of called[stage] as number[]) follow(each, [...callers, stage]);
  };
  for (const stage of stages.keys()) follow(stage, []);
}

/**
 * Returns a function from a stage's name to its place. The function throws INPUT_INVALID if there
 * is none.
 */
export function stageFinder(stages: Network['stages']): (name: string) => number {
  const places = new Map(stages.map(({ name }, place) => [name, place]));
  return (name) =>
    places.get(name) ?? refuse(`a step runs '${name}', which is not a stage`, 'give the name of a stage');
}

function checkNames(names: readonly string[]): void {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) refuse(`two have the name '${twice}'`, 'give each a name of its own');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `this network cannot be simulated: ${what}`, hint);
}
