import { MS_PER_S } from '#base/units.ts';
import type { StudySpec } from '#spec/study-spec.ts';

type Limits = Partial<Pick<StudySpec['limits'], 'loadTimeoutSeconds' | 'firstRequestTimeoutSeconds'>>;

const LOAD_TIMEOUT_S = 600;

/** Returns how long one load of a model may take, in milliseconds. */
export const toLoadTimeoutMs = ({ loadTimeoutSeconds = LOAD_TIMEOUT_S }: Limits): number =>
  loadTimeoutSeconds * MS_PER_S;

/**
 * Returns how long the first answers after a load may take, in milliseconds; as long as the load if
 * that is all that is known, because an engine that one server builds in the load another one
 * builds for the first request.
 */
export const toFirstAnswersMs = ({ firstRequestTimeoutSeconds, ...limits }: Limits): number =>
  firstRequestTimeoutSeconds === undefined ? toLoadTimeoutMs(limits) : firstRequestTimeoutSeconds * MS_PER_S;
