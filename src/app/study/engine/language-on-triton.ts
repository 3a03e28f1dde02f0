import { tritonAdapter } from '../../../adapter/triton/adapter.ts';
import { realClock } from '../../../base/clock.ts';
import type { TuneParts } from '../../../tuner/run.ts';
import { safeName } from '../../output/directory.ts';
import type { OpenServer } from '../../server/open-server.ts';
import { controlOfStudy } from '../control-over.ts';
import type { OpenStudy } from '../open-study.ts';
import type { PlannedStudy } from '../plan-study.ts';
import { promptRequests } from './prompt-requests.ts';
import { requestProfile } from './request-profile.ts';

/** Returns the parts of a study of a language model on a Triton, measured by the tokens of its streamed replies. Errors: USAGE, INPUT_INVALID. */
export async function assembleLanguageParts(
  study: OpenStudy,
  { plan, space, sampler, samplerFor }: PlannedStudy,
  opened: OpenServer,
  onBuild: (variant: string, log: string) => void,
): Promise<{ readonly parts: TuneParts; close(): Promise<void> }> {
  const { spec, journal, workloads } = study;
  const { headers, tls, metricsUrl, server } = opened;
  const serving = () => ({ address: server.url, headers, tls, metricsUrl });
  const profile = requestProfile(spec, serving, await promptRequests(spec, workloads));
  const adapter = tritonAdapter({
    ...{ model: spec.model, original: plan.study.original, profile, identity: server, segmentOf: safeName },
    control: controlOfStudy(study, plan, opened, onBuild),
    space: space.view(),
  });
  return {
    parts: { adapter, sampler, samplerFor, journal, clock: realClock },
    close: () => profile.close(),
  };
}
