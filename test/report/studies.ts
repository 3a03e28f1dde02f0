import { loadProfile } from '#emulator/profile/profiles.ts';
import { toCandidate, toModelConfig } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { tuneVirtually } from '../support/virtual-study.ts';

const parameters = {
  instances: [1, 2, 3, 4],
  max_batch_size: [1, 8, 16],
  dynamic_batching: ['on'],
};

/** A whole study, with a candidate that does not fit into memory. */
export function studyOfMany(): Promise<readonly StudyRecord[]> {
  study ??= makeStudy();
  return study;
}

let study: Promise<readonly StudyRecord[]> | undefined;

async function makeStudy(): Promise<readonly StudyRecord[]> {
  const { records } = await tuneVirtually(loadProfile('oom'), parameters, 30);
  const { definition } = spaceFromJson({ name: 'of a test', parameters });
  return records.map((record) => (record.type === 'study-started' ? { ...record, space: definition } : record));
}

/** What would run, or end what it stands in, wherever it were taken for markup. */
export const hostile = `</script><script>window.fooled=1</script><img src=x onerror="window.fooled=1">'"&]]></style><!--\u2028\u2029`;

/** The same with such texts in everything that comes from a server or a person. */
export async function hostileStudy(): Promise<readonly StudyRecord[]> {
  const records = await studyOfMany();
  return records.map((record): StudyRecord => {
    switch (record.type) {
      case 'study-started': {
        const server = { ...record.server, name: hostile, version: hostile, url: hostile };
        const modelAnalyzer = { file: hostile, ignored: [{ key: hostile, reason: hostile }] };
        return { ...record, model: hostile, server, space: {}, commandLine: ['tune', '-m', hostile], modelAnalyzer };
      }
      case 'trial-started': {
        const { candidate, trial } = record;
        const assignment = { ...candidate.assignment, [hostile]: `${hostile}${trial % 2}` };
        const config = { ...toModelConfig(candidate), parameters: { [hostile]: { string_value: hostile } } };
        return { ...record, candidate: { ...toCandidate(config), assignment } };
      }
      case 'trial-finished':
        return record.failure ? { ...record, failure: { ...record.failure, reason: hostile } } : record;
      case 'study-finished':
        return { ...record, stopReason: hostile };
      default:
        return record;
    }
  });
}
