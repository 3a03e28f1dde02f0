import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { computeMeanRate, createPlan } from '#workload/plan/plan-of.ts';
import { parseWorkload, readWorkload } from '#workload/read-workload.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'examples/workloads');

describe('the examples', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.yaml')))('%s is read and played', async (name) => {
    const workload = await readWorkload(join(folder, name));
    const plan = createPlan(workload, { seed: 1, mostSeconds: 60 });
    expect(plan.arrivalsNs.length).toBe(Math.round((computeMeanRate(workload) * plan.durationNs) / 1e9));
    expect(new Set(plan.classOf).size).toBe(workload.classes.length);
  });

  it('in docs/workloads.md are read', async () => {
    const page = readFileSync(join(root, 'docs/workloads.md'), 'utf8');
    const [file, sessions] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text as string);
    expect(await parseWorkload(`${file}${sessions}`, 'page.yaml')).toMatchObject({ name: 'evening', sessions: {} });
  });
});
