import { expect, it } from 'vitest';
import { closingLines } from '#headless/closing.ts';
import { createLines } from '#headless/lines.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { foldStudy } from '#study/records/fold.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf } from '../study/builders.ts';
import { play, World } from '../tuner/world.ts';

const reason = 'its CPU was busy 97 % of the time';

it('says which measurements were client-bound, why, and at the end how many', async () => {
  const world = new World();
  const client = { cpuUsPerRequest: 20, eventLoopDelayMs: 1, bound: true, reason };
  world.bend = (measurement): Measurement =>
    measurement.throughput.value > 250 ? { ...measurement, client } : measurement;
  const { events, records } = await play({ world, goal: goalOf(null) });
  const lines: string[] = [];
  const onEvent = createLines((line) => lines.push(line));
  for (const event of events) onEvent(event);
  const noted = lines.filter((line) => line.includes(`the load generator was the limit (${reason})`));
  expect(noted.length).toBeGreaterThan(0);
  const closing = closingLines(summarize(foldStudy(records), 'journal.jsonl'), {});
  expect(closing).toContainEqual(
    expect.stringMatching(new RegExp(`^client .*limited by the load generator.*${reason}`)),
  );
  expect(closing).toContainEqual(expect.stringContaining(`${noted.length} measurement`));
});
