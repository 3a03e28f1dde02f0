import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { drive } from './drive.ts';

/**
 * A case and what an independent model of Triton's batcher, itself checked against a real server,
 * made of it: for each request the size of the batch that it was executed in, and its time in the
 * queue. A third of the cases lie on a lattice of whole milliseconds, where many events fall on the
 * same instant.
 */
type RecordedCase = {
  readonly maxBatchSize: number;
  readonly preferredBatchSizes: number[];
  readonly delayUs: number;
  readonly instances: number;
  readonly prefetch: boolean;
  readonly gapsUs: number[];
  /** Service time of batch sizes 1, 2, … */
  readonly serviceUs: number[];
  readonly batchSizes: number[];
  readonly queueUs: number[];
};

const fixture = new URL('../fixtures/queueing/batcher-cases.json.gz', import.meta.url);
const cases = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as RecordedCase[];

function replay(recorded: RecordedCase): Pick<RecordedCase, 'batchSizes' | 'queueUs'> {
  let atUs = 0;
  const arrivalsUs = recorded.gapsUs.map((gapUs) => {
    atUs += gapUs;
    return atUs;
  });
  const batches = drive(
    { ...recorded, maxQueueDelayNs: recorded.delayUs * 1000, dynamicBatching: true },
    arrivalsUs.map((us) => ({ atNs: us * 1000, samples: 1 })),
    (samples) => (recorded.serviceUs[samples - 1] as number) * 1000,
  );
  const served = batches.flatMap(({ requests, samples, startNs }) =>
    requests.map((request) => ({ request, samples, queueUs: startNs / 1000 - (arrivalsUs[request] as number) })),
  );
  served.sort((a, b) => a.request - b.request);
  return { batchSizes: served.map(({ samples }) => samples), queueUs: served.map(({ queueUs }) => queueUs) };
}

describe('agreement with an independent model of the batcher', () => {
  it('covers every kind of policy', () => {
    expect(cases).toHaveLength(1000);
    const share = (of: (recorded: RecordedCase) => boolean): number => cases.filter(of).length / cases.length;
    expect(share(({ batchSizes }) => new Set(batchSizes).size > 1)).toBeGreaterThan(0.6);
    expect(share(({ preferredBatchSizes }) => preferredBatchSizes.length > 0)).toBeGreaterThan(0.3);
    expect(share(({ delayUs }) => delayUs > 0)).toBeGreaterThan(0.5);
    expect(share(({ prefetch }) => !prefetch)).toBeGreaterThan(0.2);
    expect(new Set(cases.map(({ instances }) => instances)).size).toBe(4);
  });

  it('serves the same requests in the same batches at the same times, in every case', () => {
    const differing = cases.flatMap((recorded, index) => {
      const { batchSizes, queueUs } = replay(recorded);
      const same = String(batchSizes) === String(recorded.batchSizes) && String(queueUs) === String(recorded.queueUs);
      return same ? [] : [index];
    });
    expect(differing).toEqual([]);
  });
});
