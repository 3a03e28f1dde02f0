import { readResultTable, type SetUp } from '#emulator/profile/result-table.ts';
import { type CalibrationRow, outsideMs } from '#queueing/calibration/row.ts';
import type { GateDocument } from '#report/gate/readings.ts';
import type { LevelTimes } from '#report/gate/times.ts';
import { describeSetUp } from './calibrate-tables.ts';

/**
 * Reads a table of results, whose figures have no intervals. Errors: INPUT_INVALID for a text
 * without a row.
 */
export function readTable(text: string, file: string): GateDocument {
  const setUps = readResultTable(text, file, 1);
  return {
    kind: 'table',
    model: '',
    isEmulated: false,
    flaw: null,
    readings: [],
    assumptions: [],
    certificate: null,
    machine: null,
    times: setUps.flatMap((setUp) =>
      setUp.rows
        .toSorted((a, b) => a.concurrency - b.concurrency || a.samplesPerRequest - b.samplesPerRequest)
        .map((row) => toTimes(row, setUp, setUps.length > 1)),
    ),
  };
}

function toTimes(row: CalibrationRow, setUp: SetUp, isNamed: boolean): LevelTimes {
  const batch = row.samplesPerRequest === 1 ? '' : `, batch ${row.samplesPerRequest}`;
  const { server, latencyMs } = row;
  const ms = (name: string, value: number) => ({ name, unit: 'ms', value });
  return {
    subject: `${isNamed ? `${describeSetUp(setUp)}: ` : ''}concurrency ${row.concurrency}${batch}`,
    figures: [
      { name: 'throughput', unit: 'infer/s', value: row.inferPerSecond },
      ms('p50', latencyMs.p50),
      ms('mean latency', latencyMs.mean),
    ],
    parts: server
      ? [
          ms('queue', server.queueMs),
          ms('compute input', server.inputMs),
          ms('compute infer', server.inferMs),
          ms('compute output', server.outputMs),
          ms('network and client', outsideMs(row, server)),
        ]
      : [],
  };
}
