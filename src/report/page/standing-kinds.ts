import type { FrontSeries } from '../charts/front-chart.ts';
import type { PagePoint } from './points.ts';

/** The style of a chart's marks by standing, the least important first. */
export const standingKinds: readonly (Omit<FrontSeries, 'points'> & { readonly standing: PagePoint['standing'] })[] = [
  { standing: 'missed', name: 'misses the goal', color: '#9aa0a8', size: 8, symbol: 'emptyCircle' },
  { standing: 'within', name: 'meets the goal', color: '#8a8f98', size: 8, symbol: 'circle' },
  { standing: 'front', name: 'Pareto front', color: '#2f7ed8', size: 10, symbol: 'circle' },
  { standing: 'original', name: 'original config', color: '#e08a1e', size: 14, symbol: 'diamond' },
  { standing: 'best', name: 'best', color: '#2ca05a', size: 14, symbol: 'triangle' },
];
