// What if: the chart for what the controls say.

/** Draws predicted latency over the levels, with its range, the measured points, and the budget. Both axes are in doublings. */
function showChart(told, state) {
  const place = byId('what-if-chart');
  byId('what-if-figure').querySelector('h3').textContent = titleOf(told, state);
  const narrow = place.clientWidth < 560;
  const [width, height, left, bottom] = narrow ? [380, 260, 52, 44] : [900, 300, 64, 46];
  const { trial, cells } = told.configs[state.config];
  const points = cells.flatMap((cell, at) => (cell ? [{ level: told.levels[at], ...latencyOf(cell) }] : []));
  const measured = (told.measured[trial] ?? []).map(([level, , latency]) => [level, latency]);
  const all = cellsOf(told).map(latencyOf);
  const scale = (values, from, to) => {
    const [from2, to2] = [Math.floor(Math.log2(Math.min(...values))), Math.ceil(Math.log2(Math.max(...values)))];
    const span = Math.max(1, to2 - from2);
    const step = Math.ceil(span / 8);
    const ticks = Array.from({ length: Math.floor(span / step) + 1 }, (_, tick) => 2 ** (from2 + tick * step));
    return { at: (value) => from + ((Math.log2(value) - from2) / span) * (to - from), ticks };
  };
  const x = scale(told.levels, left, width - 16);
  const y = scale(
    all.flatMap(({ low, high }) => [low, high]),
    height - bottom,
    12,
  );
  const svg = document.createElementNS(svgNames, 'svg');
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute(
    'aria-label',
    `Latency over ${told.nameOfLevels} of ${describe(told, state.config)}; the figures are in the table below`,
  );
  for (const tick of y.ticks) {
    draw(svg, 'line', { x1: left, x2: width - 16, y1: y.at(tick), y2: y.at(tick), stroke: '#8883' });
    draw(svg, 'text', { x: left - 8, y: y.at(tick) + 4, 'text-anchor': 'end', 'font-size': 12 }, figure(tick));
  }
  for (const tick of x.ticks) {
    draw(
      svg,
      'text',
      { x: x.at(tick), y: height - bottom + 18, 'text-anchor': 'middle', 'font-size': 12 },
      figure(tick),
    );
  }
  draw(
    svg,
    'text',
    { x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle', 'font-size': 12 },
    told.nameOfLevels,
  );
  const axis = { x: 14, y: (height - bottom) / 2, 'text-anchor': 'middle', 'font-size': 12 };
  draw(svg, 'text', { ...axis, transform: `rotate(-90 14 ${axis.y})` }, `p${told.percentile} latency, ms`);
  const line = (list) => list.map(([level, ms]) => `${x.at(level)},${y.at(ms)}`).join(' ');
  const band = [
    ...points.map(({ level, high }) => [level, high]),
    ...points.map(({ level, low }) => [level, low]).reverse(),
  ];
  draw(svg, 'polygon', { points: line(band), fill: '#2f7ed8', 'fill-opacity': 0.22 });
  draw(svg, 'polyline', {
    points: line(points.map(({ level, value }) => [level, value])),
    fill: 'none',
    stroke: '#2f7ed8',
    'stroke-width': 2,
  });
  const lowest = y.ticks[0];
  const top = y.at(Math.max(state.budgetMs, lowest));
  if (top > 8) {
    draw(svg, 'line', { x1: left, x2: width - 16, y1: top, y2: top, stroke: '#d33', 'stroke-dasharray': '4 3' });
    draw(
      svg,
      'text',
      { x: width - 18, y: top - 5, 'text-anchor': 'end', 'font-size': 12 },
      `budget ${figure(state.budgetMs)} ms`,
    );
  }
  const here = cells[state.level];
  if (here) {
    draw(svg, 'circle', {
      cx: x.at(told.levels[state.level]),
      cy: y.at(latencyOf(here).value),
      r: 6,
      fill: 'none',
      stroke: '#2f7ed8',
      'stroke-width': 2,
    });
  }
  for (const [level, ms] of measured) draw(svg, 'circle', { cx: x.at(level), cy: y.at(ms), r: 4, fill: '#e08a1e' });
  const key = narrow ? left + 6 : left + 12;
  draw(
    svg,
    'text',
    { x: key + 12, y: 22, 'font-size': 12 },
    measured.length > 0 ? 'measured; the line is predicted, with its range' : 'predicted, with its range; not measured',
  );
  draw(svg, 'circle', { cx: key, cy: 18, r: 4, fill: measured.length > 0 ? '#e08a1e' : '#2f7ed8' });
  place.replaceChildren(svg);
}

/** Returns the message of the chart: up to which level the config is expected to keep the budget. */
function titleOf(told, { config, budgetMs }) {
  const { trial, cells } = told.configs[config];
  const name = trial === null ? 'This config' : trial === 0 ? 'Your config' : `Trial ${trial}`;
  const isKept = (cell) => cell !== null && latencyOf(cell).value <= budgetMs;
  const met = `meet p${told.percentile} ≤ ${figure(budgetMs)} ms`;
  const most = cells.findLastIndex(isKept);
  if (most < 0) return `${name} is not expected to ${met} at any level`;
  const level = told.levels[most];
  const at = told.nameOfLevels.startsWith('concurrency')
    ? told.nameOfLevels.replace('concurrency', `concurrency ${level}`)
    : `${told.nameOfLevels} ${level}`;
  return `${name} is expected to ${met} up to ${at}${most === cells.length - 1 ? ', the highest level here' : ''}`;
}
