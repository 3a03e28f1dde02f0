import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

/**
 * Prints the coverage of each room of `src` by the unit tests, from what `vitest --coverage` left:
 * `npm run coverage`.
 */
interface Counted {
  readonly total: number;
  readonly covered: number;
}
type Summary = Readonly<Record<string, { readonly lines: Counted; readonly branches: Counted }>>;

const root = resolve(import.meta.dirname, '..');
const summary = JSON.parse(readFileSync(join(root, 'coverage/coverage-summary.json'), 'utf8')) as Summary;
const files = Object.entries(summary).filter(([path]) => path !== 'total');
const rooms = Object.groupBy(files, ([path]) => relative(join(root, 'src'), path).split('/')[0] as string);

function percent(counts: readonly Counted[]): string {
  const [total, covered] = (['total', 'covered'] as const).map((key) =>
    counts.reduce((sum, each) => sum + each[key], 0),
  );
  return `${((100 * (covered as number)) / Math.max(1, total as number)).toFixed(0)} %`.padStart(10);
}

const print = (room: string, some: typeof files): void => {
  const [lines, branches] = (['lines', 'branches'] as const).map((kind) => percent(some.map(([, each]) => each[kind])));
  process.stdout.write(`${room.padEnd(12)}${String(some.length).padStart(6)}${lines}${branches}\n`);
};
process.stdout.write(`${'room'.padEnd(12)}${'files'.padStart(6)}${'lines'.padStart(10)}${'branches'.padStart(10)}\n`);
for (const [room, some = []] of Object.entries(rooms).sort()) print(room, some);
print('all', files);
