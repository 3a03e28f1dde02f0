import { expect, it } from 'vitest';
import { DrawnCharts } from '#watch/drawn-charts.ts';
import type { WatchedStudy } from '#watch/view/watched-study.ts';

it('draws a chart once for all viewers, and the less often the longer it takes', () => {
  let [nowMs, drawn] = [0, 0];
  const study = {
    records: 1,
    front: () => {
      nowMs += 100;
      return `<svg>${++drawn}</svg>`;
    },
  };
  const charts = new DrawnCharts(() => nowMs);
  const svg = () => charts.of('one', study as unknown as WatchedStudy, 'wide')?.svg;
  expect([svg(), svg()]).toEqual(['<svg>1</svg>', '<svg>1</svg>']);
  study.records = 2;
  nowMs += 900;
  expect(charts.of('one', study as unknown as WatchedStudy, 'wide')).toMatchObject({ svg: '<svg>1</svg>', records: 1 });
  nowMs += 100;
  expect(charts.of('one', study as unknown as WatchedStudy, 'wide')).toMatchObject({ svg: '<svg>2</svg>', records: 2 });
  expect(charts.of('one', study as unknown as WatchedStudy, 'narrow')?.svg).toBe('<svg>3</svg>');
  charts.forget('one');
  expect(svg()).toBe('<svg>4</svg>');
  expect(charts.of('none', { records: 1, front: null } as unknown as WatchedStudy, 'wide')).toBeNull();
});
