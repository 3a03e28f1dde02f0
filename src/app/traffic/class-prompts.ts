import { TrituneError } from '#base/errors.ts';
import { type ClassRequests, classedSet } from '#loadgen/classed-set.ts';
import { type PromptOrder, type PromptSetting, type PromptTraffic, preparePrompts } from './prompts.ts';
import { classShares, findLimits, hasClasses, type PlayedWorkload, type WorkloadFront } from './workload.ts';

/**
 * The prompts of a workload for a language model: `requests` with classes, or without if the
 * workload has only one.
 */
export type ClassPrompts = Pick<PromptTraffic, 'requests' | 'notes'>;

/**
 * Returns the prompts of a front's classes. Options apply where a class says nothing. Errors: as
 * `preparePrompts`; UNSUPPORTED for classes that ask in another way than the command says, and for
 * conversations among several classes.
 */
export async function prepareClassPrompts(
  front: WorkloadFront,
  options: PromptOrder & { readonly endpoint?: string | undefined },
  setting: PromptSetting,
  played: Pick<PlayedWorkload, 'workload' | 'planAt' | 'perSecond'>,
): Promise<ClassPrompts> {
  const shares = classShares(front, played);
  const traffics: PromptTraffic[] = [];
  for (const { name, prompts, endpoint, requests } of front.classes) {
    if (endpoint !== undefined && endpoint !== options.endpoint) {
      throw unsupported(
        `class '${name}' has an endpoint of its own, ${endpoint}`,
        `remove it from the workload file, and give --endpoint ${endpoint} for all classes`,
      );
    }
    if (requests)
      throw unsupported(`class '${name}' sends tensors to a language model`, 'give the class `prompts` instead');
    traffics.push(await preparePrompts({ ...options, ...prompts }, { ...setting, model: front.model }));
  }
  const [only] = traffics;
  if (only && !hasClasses(played.workload)) return only;
  const classes = traffics.map(({ requests }, index): ClassRequests => {
    const each = front.classes[index] as WorkloadFront['classes'][number];
    return { name: each.name, limits: findLimits(each), set: requests, share: shares[index] as number };
  });
  return {
    requests: classedSet(classes as [ClassRequests, ...ClassRequests[]]),
    notes: traffics.flatMap(({ notes }, index) => notes.map((note) => `${front.classes[index]?.name}: ${note}`)),
  };
}

const unsupported = (what: string, hint: string): TrituneError => new TrituneError('UNSUPPORTED', what, hint);
