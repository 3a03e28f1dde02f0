/** The exports of `tritune/testing`: docs/extending.md. */
export { type AdapterSubject, type AdapterUnderTest, adapterConformance } from './adapter-conformance.ts';
export type { ConformanceCheck } from './check.ts';
export { samplerConformance } from './sampler-conformance.ts';
