import { TrituneError } from '#base/errors.ts';
import { TRITON } from '#space/model-configs.ts';
import type { StudyStarted } from '#study/records/records.ts';

/**
 * Checks that the study's candidates are for the adapter of this name. Errors: UNSUPPORTED for
 * those of another one.
 */
export function checkAdapter({ adapter, original }: Pick<StudyStarted, 'adapter' | 'original'>, name = TRITON): void {
  if (adapter === name) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `the study used the adapter '${adapter}', not '${name}'`,
    adapter === TRITON
      ? 'leave out --adapter'
      : `continue it with --adapter and that adapter, or set ${JSON.stringify(original.value)} by hand; tritune report needs no server`,
  );
}
